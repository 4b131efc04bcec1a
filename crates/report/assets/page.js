'use strict';
// What every page has: the theme, its data, charts to take away.
const P = {};

P.make = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};

// What the page carries, compressed (deflate, RFC 1951) in base64.
P.data = async () => {
  const text = document.getElementById('data').textContent;
  const bytes = Uint8Array.from(window.atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).json();
};

// --- theme ----------------------------------------------------------------------------------

P.theme = () => {
  const root = document.documentElement;
  const asked = new URLSearchParams(window.location.search).get('theme');
  let stored = null;
  // A file opened from disk may have no storage.
  try {
    stored = window.localStorage.getItem('sojourn-theme');
  } catch {
    stored = null;
  }
  if (asked || stored) root.dataset.theme = asked || stored;
  const dark = () =>
    root.dataset.theme
      ? root.dataset.theme === 'dark'
      : window.matchMedia('(prefers-color-scheme: dark)').matches;
  const button = document.getElementById('theme');
  const label = () => {
    button.textContent = dark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to the ${dark() ? 'light' : 'dark'} theme`);
  };
  button.addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    try {
      window.localStorage.setItem('sojourn-theme', root.dataset.theme);
    } catch {
      /* none */
    }
    label();
  });
  label();
};

// --- charts to take away --------------------------------------------------------------------

P.download = (name, blob) => {
  const url = URL.createObjectURL(blob);
  P.make('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};

// What the page's style says of a drawing, said by the drawing itself.
P.styles = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
];

// A drawing that needs no page: its style in itself, the card's colour behind it.
P.alone = (svg) => {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((node, i) => {
    const style = window.getComputedStyle(node);
    for (const name of P.styles) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  const behind = document.createElementNS(svg.namespaceURI, 'rect');
  behind.setAttribute('width', '100%');
  behind.setAttribute('height', '100%');
  behind.setAttribute('fill', window.getComputedStyle(document.body).backgroundColor);
  copy.prepend(behind);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
};

P.saveSvg = (svg, name) =>
  P.download(`${name}.svg`, new Blob([P.alone(svg).text], { type: 'image/svg+xml' }));

// At twice the size on the screen.
P.savePng = (svg, name) => {
  const { text, width, height } = P.alone(svg);
  const image = new Image();
  image.onload = () => {
    const canvas = P.make('canvas', { width: 2 * width, height: 2 * height });
    const context = canvas.getContext('2d');
    context.scale(2, 2);
    context.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => P.download(`${name}.png`, blob), 'image/png');
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
};

P.csv = (rows) => {
  const quote = (v) => (/[",\n]/.test(`${v}`) ? `"${`${v}`.replaceAll('"', '""')}"` : `${v}`);
  return `${rows.map((row) => row.map((v) => quote(v ?? '')).join(',')).join('\n')}\n`;
};

P.saveCsv = (rows, name) =>
  P.download(`${name}.csv`, new Blob([P.csv(rows)], { type: 'text/csv' }));

P.fileName = (title) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60) || 'chart';

// A menu: the drawing as SVG and PNG, its data as CSV where there are any.
P.saveMenu = (title, svg, rows) => {
  const name = P.fileName(title);
  const item = (text, save) =>
    P.make('button', { type: 'button', class: 'small', onclick: save }, text);
  const items = [
    item('SVG', () => P.saveSvg(svg(), name)),
    item('PNG', () => P.savePng(svg(), name)),
  ];
  if (rows) items.push(item('CSV', () => P.saveCsv(rows(), name)));
  const menu = P.make(
    'details',
    { class: 'save' },
    P.make('summary', { class: 'small', 'aria-label': `Save “${title}”` }, 'Save'),
    P.make('div', {}, ...items),
  );
  menu.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') menu.open = false;
  });
  return menu;
};
