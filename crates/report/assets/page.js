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

// --- keys -----------------------------------------------------------------------------------

// One stop for Tab, from which arrows, Home and End go from item to item: nobody tabs through a
// hundred points. What an item tells while it has the focus, `hide` takes away, and so does Escape.
P.arrows = (items, hide) => {
  const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
  const last = items.length - 1;
  items.forEach((item, i) => {
    item.setAttribute('tabindex', i === 0 ? 0 : -1);
    item.addEventListener('blur', hide);
    item.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') hide();
      const ends = { Home: 0, End: last };
      const to = event.key in ends ? ends[event.key] : i + (steps[event.key] || 0);
      if (!(event.key in ends) && !(event.key in steps)) return;
      event.preventDefault();
      const next = items[Math.min(Math.max(to, 0), last)];
      item.setAttribute('tabindex', -1);
      next.setAttribute('tabindex', 0);
      next.focus();
    });
  });
};

// --- what marks tell ------------------------------------------------------------------------

P.tip = {
  node: null,
  show(text, x, y) {
    if (!this.node) {
      this.node = P.make('div', { class: 'tip', role: 'status' });
      document.body.append(this.node);
    }
    const { node } = this;
    node.textContent = text;
    node.hidden = false;
    const room = document.documentElement.clientWidth;
    const left = x + 14 + node.offsetWidth > room ? x - node.offsetWidth - 10 : x + 14;
    node.style.left = `${Math.max(4, left) + window.scrollX}px`;
    node.style.top = `${y + 14 + window.scrollY}px`;
  },
  hide() {
    if (this.node) this.node.hidden = true;
  },
};

// What the marks of a drawing say of themselves (their <title>), beside the pointer at once instead
// of after a while; Tab comes to the drawing, arrows go from mark to mark.
P.tell = (svg) => {
  const hide = () => P.tip.hide();
  const marks = [...svg.querySelectorAll('title')].map((title) => {
    const mark = title.parentNode;
    const text = title.textContent;
    title.remove();
    mark.setAttribute('role', 'img');
    mark.setAttribute('aria-label', text);
    mark.addEventListener('pointermove', (event) => P.tip.show(text, event.clientX, event.clientY));
    mark.addEventListener('focus', () => {
      const box = mark.getBoundingClientRect();
      P.tip.show(text, box.right - 8, box.top + box.height / 2);
    });
    mark.addEventListener('pointerleave', hide);
    return mark;
  });
  P.arrows(marks, hide);
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

// A part of a drawing with its style in itself.
P.styled = (svg, attributes) => {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((node, i) => {
    const style = window.getComputedStyle(node);
    for (const name of P.styles) {
      to[i].removeAttribute(name);
      to[i].style.setProperty(name, style.getPropertyValue(name));
    }
  });
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  return copy;
};

// What stands around a drawing in its card: the title with the unit, and the names of its lines
// with their keys.
P.around = (svg) => {
  const words = (node) => (node ? node.textContent.replace(/\s+/g, ' ').trim() : '');
  const card = svg.closest('.card');
  const panel = svg.closest('figure').querySelector('figcaption');
  const head = card.querySelector('h3').cloneNode(true);
  const unit = words(head.querySelector('.unit'));
  head.querySelector('.unit')?.remove();
  const name = [head, panel].map(words).filter(Boolean).join(': ');
  const title = unit ? `${name}${unit.startsWith('(') ? ' ' : ', '}${unit}` : name;
  const lines = card.querySelectorAll('.legend button[aria-pressed="true"], .key > span');
  const keys = [...lines].map((line) => [line.querySelector('svg, .swatch'), words(line)]);
  return { title, keys: keys.filter(([key]) => key) };
};

// A drawing that needs no page: title and legend with it, the page's colour behind it.
P.alone = (svg) => {
  const [width, tall] = [svg.clientWidth, svg.clientHeight];
  const body = window.getComputedStyle(document.body);
  const make = (tag, attributes, ...children) => {
    const node = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const measure = P.make('canvas', {}).getContext('2d');
  const wide = (text, font) => {
    measure.font = `${font} ${body.fontFamily}`;
    return measure.measureText(text).width;
  };
  const behind = make('rect', { width: '100%', height: '100%', fill: body.backgroundColor });
  const root = make('svg', { width, fill: body.color, 'font-family': body.fontFamily }, behind);
  const { title, keys } = P.around(svg);
  let y = 8;
  let line = '';
  const endLine = () => {
    y += 18;
    root.append(make('text', { x: 8, y, 'font-size': 14, 'font-weight': 600 }, line));
  };
  for (const word of title.split(' ')) {
    if (line && wide(`${line} ${word}`, '600 14px') > width - 16) {
      endLine();
      line = '';
    }
    line = line ? `${line} ${word}` : word;
  }
  endLine();
  y += 8;
  root.append(P.styled(svg, { x: 0, y, width, height: tall }));
  y += tall + 18;
  let x = 8;
  for (const [key, name] of keys) {
    const room = 34 + wide(name, '12px') + 14;
    if (x > 8 && x + room > width) [x, y] = [8, y + 20];
    if (key.matches('svg')) {
      root.append(P.styled(key, { x, y: y - 9, width: 26, height: 10 }));
    } else {
      const fill = window.getComputedStyle(key).backgroundColor;
      root.append(make('rect', { x: x + 14, y: y - 10, width: 11, height: 11, rx: 2, fill }));
    }
    root.append(make('text', { x: x + 32, y, 'font-size': 12 }, name));
    x += room;
  }
  const height = keys.length ? y + 12 : y - 8;
  root.setAttribute('height', height);
  root.setAttribute('viewBox', `0 0 ${width} ${height}`);
  return { text: new XMLSerializer().serializeToString(root), width, height };
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
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
  return menu;
};
