mod dashjs2;
mod generator;
mod manifests;
mod rules;
mod watching;
