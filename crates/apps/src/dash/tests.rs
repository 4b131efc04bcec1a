mod generator;
mod manifests;
mod rules;
mod watching;
