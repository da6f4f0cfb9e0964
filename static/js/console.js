// What only the console has: keys, the state of its stream, and pauses. Every page works without it.
(() => {
  'use strict';
  const doc = document;
  const on = (target, type, f) => target.addEventListener(type, f);
  const bar = doc.querySelector('.bar');
  const typing = el => el.closest?.('input, textarea, select, [contenteditable]');

  // The stream's state is a word, never only a colour.
  const state = doc.getElementById('stream-state');
  const show = what => {
    if (!state) return;
    state.hidden = false;
    state.dataset.state = what;
    state.textContent = state.dataset[what];
  };
  let connection; // the stream's, while it waits to be made again too
  const stream = doc.getElementById('stream');
  const again = () => setTimeout(() => htmx.trigger(stream, 'again'), 5000);
  on(doc, 'htmx:sse:after:connection', e => { connection = e.detail.connection; show('live'); });
  on(doc, 'htmx:sse:error', () => show(doc.hidden ? 'paused' : 'reconnecting'));
  on(doc, 'htmx:sse:before:connection', e => { if (e.detail.connection.attempt > 0) show(doc.hidden ? 'paused' : 'reconnecting'); });
  for (const failed of ['htmx:response:error', 'htmx:error']) {
    on(doc, failed, e => { if (stream && e.detail.ctx?.sourceElement === stream) { show('reconnecting'); again(); } });
  }
  on(doc, 'visibilitychange', () => { if (doc.hidden && state?.dataset.state) show('paused'); });
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

  // Nothing moves under somebody who reads a table, has rows selected or a box open.
  const busy = () => doc.querySelector('#main details[open], #main [name=selected]:checked') || typing(doc.activeElement ?? doc.body);
  on(doc, 'htmx:config:request', e => {
    const source = e.detail.ctx.sourceElement;
    if (source.id !== 'live' || !busy()) return;
    e.preventDefault();
    show('paused');
  });

  // Somebody who selects rows isn't disturbed, and sees it.
  const selected = () => doc.querySelector('#main [name=selected]:checked');
  on(doc, 'change', e => { if (e.target.name === 'selected') show(selected() ? 'paused' : 'live'); });

  doc.querySelectorAll('[data-print]').forEach(b => { b.hidden = false; on(b, 'click', () => window.print()); });
  on(window, 'beforeprint', () => doc.querySelectorAll('#main details').forEach(d => { d.open = true; }));

  // Keys: by their place on the keyboard too, so that they work on every layout. None inside a field, none with a modifier.
  if (bar?.dataset.keys !== 'on') return;
  const rows = () => [...doc.querySelectorAll('#main tbody tr')].filter(r => r.offsetParent);
  const current = () => doc.querySelector('#main tr.current');
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
    Slash: find, KeyJ: () => move(1), KeyK: () => move(-1), KeyX: () => press('[name=selected]'), KeyC: () => press('[data-copy]'),
    KeyR: () => { if (!selected()) doc.querySelector('[data-refresh]')?.click(); },
  };
  let going = 0;
  on(doc, 'keydown', e => {
    if (e.code === 'Escape') { close(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    if (e.key === '?' || (e.shiftKey && e.code === 'Slash') || (e.shiftKey && e.code === 'Digit7' && e.key === '?')) { e.preventDefault(); help(); return; }
    if (e.shiftKey) return;
    if (e.timeStamp < going) {
      going = 0;
      if (e.code.startsWith('Key')) { e.preventDefault(); go(e.code.slice(3).toLowerCase()); }
      return;
    }
    if (e.code === 'KeyG') { going = e.timeStamp + 1500; return; }
    const act = e.key === '/' ? find : keys[e.code];
    if (act) { e.preventDefault(); act(); }
  });
})();
