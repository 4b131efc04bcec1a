'use strict';
// A study's charts: what the pointer is on, lines to hide, pictures to take away. Without this
// script they are whole too.

// A name in the legend hides its lines in all panels, and shows them alone while it is pointed at.
const choose = (chart) => {
  const lines = [...chart.querySelectorAll('[data-line]')];
  for (const button of chart.querySelectorAll('.legend button')) {
    const own = lines.filter((line) => line.dataset.line === button.dataset.name);
    button.addEventListener('click', () => {
      const shown = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', shown);
      for (const line of own) line.style.display = shown ? '' : 'none';
    });
    const fade = (opacity) => () => {
      for (const line of lines) if (!own.includes(line)) line.style.opacity = opacity;
    };
    for (const event of ['pointerenter', 'focus']) button.addEventListener(event, fade('0.15'));
    for (const event of ['pointerleave', 'blur']) button.addEventListener(event, fade(''));
  }
};

P.theme();
const tables = P.data();
let panels = 0;
for (const chart of document.querySelectorAll('#charts .card')) {
  for (const svg of chart.querySelectorAll('.panels svg')) P.tell(svg);
  choose(chart);
  const title = chart.querySelector('h3').textContent;
  const alone = chart.querySelectorAll('figure').length === 1;
  for (const figure of chart.querySelectorAll('figure')) {
    const panel = figure.querySelector('figcaption');
    const name = panel ? `${title} ${panel.textContent}` : title;
    const svg = figure.querySelector('svg');
    const number = panels;
    panels += 1;
    // Of one panel the menu stands beside the heading.
    const place = alone ? chart.querySelector('.chart-head') : figure;
    tables.then((all) => place.append(P.saveMenu(name, () => svg, () => all[number])));
  }
}
