// Small improvements over pages that already work without any script. No other file has behaviour.
(() => {
  'use strict';
  const doc = document;
  const on = (target, type, f) => target.addEventListener(type, f);

  // A page restored from the back/forward cache still has its button disabled and an old status.
  on(window, 'pageshow', e => { if (e.persisted) location.reload(); });

  // The shop writes times in the reader's zone; the server learns it from this cookie.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) doc.cookie = 'zone=' + encodeURIComponent(zone) + ';path=/;max-age=31536000;samesite=lax';

  // Copy buttons are useless without script, so the server sends them hidden.
  const reveal = root => root.querySelectorAll?.('[data-copy][hidden]').forEach(b => { b.hidden = false; });
  const copy = async b => {
    try { await navigator.clipboard.writeText(b.dataset.copy); } catch { return; }
    const label = b.getAttribute('aria-label');
    const use = b.querySelector('use');
    const icon = use.getAttribute('href');
    b.classList.add('done');
    b.setAttribute('aria-label', b.dataset.copied);
    use.setAttribute('href', icon.replace(/#.*/, '#check'));
    setTimeout(() => {
      b.classList.remove('done');
      b.setAttribute('aria-label', label);
      use.setAttribute('href', icon);
    }, 1500);
  };
  on(doc, 'click', e => {
    const b = e.target.closest?.('[data-copy]');
    if (b) copy(b);
    doc.querySelectorAll('details.menu[open]').forEach(d => { if (!d.contains(e.target)) d.open = false; });
  });

  on(doc, 'keydown', e => {
    if (e.key === 'Escape') doc.querySelectorAll('details.menu[open]').forEach(d => { d.open = false; });
  });

  // A plain form is sent once; htmx forms have their own guard.
  on(doc, 'submit', e => {
    const form = e.target;
    if (!form.matches('[data-once]') || (window.htmx && form.hasAttribute('hx-post'))) return;
    if (form.classList.contains('busy')) e.preventDefault();
    form.classList.add('busy');
  });

  // Nobody looks at a hidden tab: polls wait until it is shown.
  on(doc, 'htmx:config:request', e => {
    const poll = e.detail.ctx.sourceElement.getAttribute('hx-trigger')?.startsWith('every');
    if (poll && doc.hidden) e.preventDefault();
  });

  // Retry: the same form with the same hidden key, so a repeat cannot become a second order.
  const waits = new WeakMap();
  const clear = form => {
    clearTimeout(waits.get(form)?.timer);
    waits.delete(form);
  };
  const offline = form => {
    const status = form.querySelector('[data-retry-status]');
    status.textContent = status.dataset.offline;
    window.addEventListener('online', () => { if (form.isConnected) form.requestSubmit(); }, { once: true });
  };
  const giveUp = (form, status) => {
    const link = doc.createElement('a');
    link.href = form.dataset.check;
    link.textContent = status.dataset.checkLabel;
    link.dataset.testid = 'check-order';
    status.replaceChildren(status.dataset.gaveUp + ' ', link);
    link.focus();
  };
  const retry = (form, after) => {
    const status = form.querySelector('[data-retry-status]');
    const most = Number(form.dataset.retry);
    const n = (waits.get(form)?.n ?? 0) + 1;
    if (n > most) { clear(form); giveUp(form, status); return; }
    status.textContent = status.dataset.text.replace('{n}', n).replace('{of}', most);
    const backoff = Math.min(8, 0.5 * 2 ** (n - 1)) * (0.7 + Math.random() * 0.6);
    const wait = after > 0 ? after : backoff;
    waits.set(form, { n, timer: setTimeout(() => { if (form.isConnected) form.requestSubmit(); }, wait * 1000) });
  };
  const retriable = e => {
    const form = e.detail.ctx?.sourceElement;
    return form?.matches?.('form[data-retry]') ? form : null;
  };
  on(doc, 'htmx:error', e => {
    const form = retriable(e);
    if (!form || e.detail.ctx.response) return;
    if (navigator.onLine) retry(form, 0); else offline(form);
  });
  on(doc, 'htmx:response:error', e => {
    const form = retriable(e);
    const response = e.detail.ctx.response;
    if (!form) return;
    if (response.status < 500 && response.status !== 429) { clear(form); return; }
    retry(form, Number(response.headers.get('Retry-After')) || 0);
  });

  // An order's state is said once, when it changes: its card is replaced at every look, which nobody wants to hear.
  const say = () => {
    const card = doc.getElementById('order-status');
    const said = doc.getElementById('order-said');
    if (!card || !said || said.dataset.state === card.dataset.state) return;
    said.dataset.state = card.dataset.state;
    said.textContent = card.querySelector('.status-text').innerText;
  };

  // Whoever stands on a button with the keyboard stays there, also when a look replaces it.
  let held = '';
  on(doc, 'htmx:before:swap', () => { held = doc.activeElement?.id ?? ''; });
  const hold = () => {
    if (held && doc.activeElement === doc.body) doc.getElementById(held)?.focus({ preventScroll: true });
  };

  // What was swapped in gets its copy buttons, and a refused form gets the focus on its summary.
  on(doc, 'htmx:after:swap', e => {
    reveal(doc);
    say();
    hold();
    if (e.target.id === 'main' || e.detail.ctx?.sourceElement?.matches?.('form')) doc.getElementById('error-summary')?.focus();
  });
  reveal(doc);
})();
