// What a page shows while its server does not answer: since when, and the last numbers greyed, with their age.
import { byId, text, show, clock, seconds } from './dom.js';

let heardAt = null;
let lost = false;

/** The server answered just now. */
export function heard() {
  heardAt = Date.now();
  lost = false;
  draw();
}

/** It did not. */
export function unheard() {
  lost = true;
  draw();
}

function draw() {
  document.body.classList.toggle('stale', lost && heardAt !== null);
  if (!show(byId('down'), lost)) return;
  const age = heardAt === null ? 0 : Math.max(1, Math.round((Date.now() - heardAt) / 1000));
  const since = age ? ` since ${clock(heardAt / 1000)}. What is below is ${age < 120 ? `${age} s` : seconds(age)} old` : '';
  text(byId('down'), `The server has not answered${since}.`);
}

setInterval(() => { if (lost) draw(); }, 1000);
