'use strict';
// Puts the page together once everything else is defined.

P.theme();
if (S.data.runs.length) {
  S.tradeoff = new S.Tradeoff();
  S.distributions = new S.Distributions();
  S.trend = new S.Trend();
  S.time = new S.Time();
  S.figures = new S.Figures();
} else {
  for (const id of ['distributions', 'time', 'tc', 'figures']) S.by(id).hidden = true;
}
