// What only the console has: keys, the state of its stream, and pauses. Every page works without it.
(() => {
  'use strict';
  const doc = document;
  const on = (target, type, f) => target.addEventListener(type, f);
  const bar = doc.querySelector('.bar');
  const typing = el => el.closest?.('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]');

  // What the stream is at, and whether the page stands still: a word, never only a colour.
  const state = doc.getElementById('stream-state');
  const selected = () => doc.querySelector('#main [name=selected]:checked, #bulk-all:checked');
  let link = ''; // live, reconnecting, or paused in a hidden tab; nothing before the first answer
  let held = false; // a look of the page itself was put off
  let stale; // a list is called out of date after a while: most gaps are shorter
  const note = (id, on) => {
    const e = doc.getElementById(id);
    if (e && e.hidden === on) e.hidden = !on;
  };
  const show = () => {
    note('list-paused', !!selected());
    if (!state || !link) return;
    const what = link === 'live' && (held || selected()) ? 'paused' : link;
    if (state.dataset.state === what) return;
    state.hidden = false;
    state.dataset.state = what;
    state.textContent = state.dataset[what];
  };
  const is = what => {
    link = what;
    if (what === 'live') {
      clearTimeout(stale);
      stale = undefined;
      note('list-stale', false);
    } else if (what === 'reconnecting') {
      stale ??= setTimeout(() => note('list-stale', true), 3000);
    }
    show();
  };
  let connection; // the stream's, while it waits to be made again too
  const stream = doc.getElementById('stream');
  const gone = () => is(doc.hidden ? 'paused' : 'reconnecting');
  const again = () => setTimeout(() => htmx.trigger(stream, 'again'), 5000);
  on(doc, 'htmx:sse:after:connection', e => { connection = e.detail.connection; is('live'); });
  on(doc, 'htmx:sse:error', gone);
  on(doc, 'htmx:sse:before:connection', e => { if (e.detail.connection.attempt > 0) gone(); });
  for (const failed of ['htmx:response:error', 'htmx:error']) {
    on(doc, failed, e => { if (stream && e.detail.ctx?.sourceElement === stream) { is('reconnecting'); again(); } });
  }
  on(doc, 'visibilitychange', () => { if (doc.hidden && link) is('paused'); });
  for (const back of ['focus', 'online']) on(window, back, () => connection?.delayCanceller?.());

  // An alarm is said once, when it begins or ends.
  let firing = doc.querySelector('[data-firing]')?.dataset.firing ?? '';
  on(doc, 'htmx:after:swap', () => {
    const strip = doc.querySelector('[data-firing]');
    const now = strip?.dataset.firing ?? '';
    if (now === firing) return;
    firing = now;
    doc.getElementById('alarm-said').textContent = strip?.dataset.said ?? '';
  });

  // Nothing moves under somebody who reads a table, has rows selected or a box open, and the page says so.
  const busy = () => doc.querySelector('#main details[open]') || selected() || typing(doc.activeElement ?? doc.body);
  const hold = now => { held = now; show(); };
  on(doc, 'htmx:config:request', e => {
    if (e.detail.ctx.sourceElement.id !== 'live') return;
    if (busy()) e.preventDefault();
    hold(!!busy());
  });
  const freed = () => { if (held && !busy()) hold(false); };
  on(doc, 'focusout', () => setTimeout(freed));
  doc.addEventListener('toggle', freed, true); // it doesn't bubble
  on(doc, 'change', e => { if (e.target.matches('[name=selected], #bulk-all')) show(); });
  on(window, 'pageshow', show); // the browser may have kept what was selected

  doc.querySelectorAll('[data-print]').forEach(b => { b.hidden = false; on(b, 'click', () => window.print()); });
  on(window, 'beforeprint', () => doc.querySelectorAll('#main details').forEach(d => { d.open = true; }));

  // Keys: a Latin letter as it is, any other by its place, so that they work on every layout. None where something is typed, none with
  // a modifier.
  if (bar?.dataset.keys !== 'on') return;
  const rows = () => [...doc.querySelectorAll('#main tbody tr:not(.work-more)')].filter(r => r.offsetParent);
  const current = () => doc.querySelector('#main tr.current') ?? doc.activeElement?.closest('#main tbody tr');
  const move = by => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
    current()?.classList.remove('current');
    next.classList.add('current');
    const link = next.querySelector('.row-link, a');
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  };
  const press = selector => current()?.querySelector(selector)?.click();
  const close = () => {
    doc.querySelectorAll('details.menu[open], details.row-box[open]').forEach(d => { d.open = false; });
    current()?.classList.remove('current');
    doc.activeElement?.blur?.();
  };
  const find = () => {
    const field = doc.querySelector('[data-search]');
    field?.focus();
    field?.select();
  };
  const go = letter => {
    const link = doc.querySelector(`[data-go="${letter}"]`);
    if (link) location.href = link.href;
  };
  const help = () => { location.href = '/console/help#shortcuts'; };
  const keys = {
    KeyJ: () => move(1), KeyK: () => move(-1), KeyX: () => press('[name=selected]'), KeyC: () => press('[data-copy]'),
    KeyR: () => { if (!selected()) doc.querySelector('[data-refresh]')?.click(); },
  };
  let going = 0;
  on(doc, 'keydown', e => {
    if (e.code === 'Escape') { close(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    const name = /^[a-z]$/i.test(e.key) ? `Key${e.key.toUpperCase()}` : e.code;
    const act = { '?': help, '/': find }[e.key] ?? (name === 'Slash' && (e.shiftKey ? help : find));
    if (act) { e.preventDefault(); act(); return; }
    if (e.shiftKey) return;
    if (e.timeStamp < going) {
      going = 0;
      if (name.startsWith('Key')) { e.preventDefault(); go(name.slice(3).toLowerCase()); }
      return;
    }
    if (name === 'KeyG') { going = e.timeStamp + 1500; return; }
    if (keys[name]) { e.preventDefault(); keys[name](); }
  });
})();
