'use strict';
// Puts the page together once everything else is defined.

P.theme();
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
