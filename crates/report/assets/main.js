'use strict';
// Puts the page together once everything else is defined.

P.theme();

// Pictures that stand in the page already: what their marks tell, and what they show as a table.
for (const picture of document.querySelectorAll('.network')) {
  const svg = picture.querySelector('svg');
  const hops = [...svg.querySelectorAll('[data-hop]')].map((hop) => hop.dataset.hop.split('\t'));
  const rows = [['from', 'to', 'packets', 'frames', 'frames lost'], ...hops];
  const head = picture.querySelector('.chart-head');
  P.tell(svg);
  head.append(P.saveMenu(head.textContent, () => svg, () => rows));
}

P.data().then((data) => {
  S.take(data);
  if (!S.data.runs.length) {
    for (const id of ['distributions', 'time', 'tc', 'figures']) S.by(id).hidden = true;
    return;
  }
  S.tradeoff = new S.Tradeoff();
  S.distributions = new S.Distributions();
  S.trend = new S.Trend();
  S.time = new S.Time();
  S.figures = new S.Figures();
});
