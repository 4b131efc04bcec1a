'use strict';
// A study's charts: what the pointer is on, lines to hide, pictures to take away. Without this
// script they are whole too.

const tip = P.make('div', { class: 'tip', role: 'status', hidden: '' });
document.body.append(tip);

const show = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const wide = tip.offsetWidth;
  const room = document.documentElement.clientWidth;
  const left = x + 14 + wide > room ? x - wide - 10 : x + 14;
  tip.style.left = `${Math.max(4, left) + window.scrollX}px`;
  tip.style.top = `${y + 14 + window.scrollY}px`;
};
const hide = () => {
  tip.hidden = true;
};

// What a mark says of itself, beside the pointer at once instead of after a while; Tab comes to
// each drawing, arrows go from mark to mark.
const tell = (chart) => {
  for (const svg of chart.querySelectorAll('.panels svg')) {
    const marks = [...svg.querySelectorAll('title')].map((title) => {
      const mark = title.parentNode;
      const text = title.textContent;
      title.remove();
      mark.setAttribute('role', 'img');
      mark.setAttribute('aria-label', text);
      mark.addEventListener('pointermove', (event) => show(text, event.clientX, event.clientY));
      mark.addEventListener('focus', () => {
        const box = mark.getBoundingClientRect();
        show(text, box.right - 8, box.top + box.height / 2);
      });
      mark.addEventListener('pointerleave', hide);
      return mark;
    });
    P.arrows(marks, hide);
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
    for (const event of ['pointerenter', 'focus']) button.addEventListener(event, fade('0.15'));
    for (const event of ['pointerleave', 'blur']) button.addEventListener(event, fade(''));
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
