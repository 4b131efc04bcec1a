'use strict';
// A study's charts: what the pointer is on, lines to hide, pictures to take away. Without this
// script they are whole too.

const tip = P.make('div', { class: 'tip', role: 'status', hidden: '' });
document.body.append(tip);

// What a mark says of itself, beside the pointer at once instead of after a while.
const tell = (chart) => {
  for (const title of chart.querySelectorAll('svg title')) {
    const mark = title.parentNode;
    const text = title.textContent;
    title.remove();
    mark.addEventListener('pointermove', (event) => {
      tip.textContent = text;
      tip.hidden = false;
      const wide = tip.offsetWidth;
      const room = document.documentElement.clientWidth;
      const left = event.clientX + 14 + wide > room ? event.clientX - wide - 10 : event.clientX + 14;
      tip.style.left = `${Math.max(4, left) + window.scrollX}px`;
      tip.style.top = `${event.clientY + 14 + window.scrollY}px`;
    });
    mark.addEventListener('pointerleave', () => {
      tip.hidden = true;
    });
  }
};

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
    button.addEventListener('pointerenter', fade('0.15'));
    button.addEventListener('pointerleave', fade(''));
  }
};

P.theme();
const tables = P.data();
let panels = 0;
for (const chart of document.querySelectorAll('#charts .card')) {
  tell(chart);
  choose(chart);
  const title = chart.querySelector('h3').textContent;
  for (const figure of chart.querySelectorAll('figure')) {
    const panel = figure.querySelector('figcaption');
    const name = panel ? `${title} ${panel.textContent}` : title;
    const svg = figure.querySelector('svg');
    const number = panels;
    panels += 1;
    tables.then((all) => figure.append(P.saveMenu(name, () => svg, () => all[number])));
  }
}
