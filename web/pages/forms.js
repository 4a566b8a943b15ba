// Submits a sign-up form without leaving its page. As a worker it solves challenges.
(() => {
  'use strict';
  const ror = (x, n) => (x >>> n) | (x << (32 - n));
  const roots = (power) => {
    const out = [];
    for (let n = 2, d; out.length < 64; n++) {
      for (d = 2; n % d; d++);
      if (d === n) out.push((n ** (1 / power) * 2 ** 32) | 0);
    }
    return Int32Array.from(out);
  };
  const K = roots(3), start = roots(2).slice(0, 8), W = new Int32Array(64);

  // SHA-256 of one block (FIPS 180-4): adds the words in W to the state s.
  const compress = (s) => {
    for (let i = 16; i < 64; i++) {
      const x = W[i - 15], y = W[i - 2];
      W[i] = W[i - 16] + W[i - 7] + (ror(x, 7) ^ ror(x, 18) ^ (x >>> 3)) + (ror(y, 17) ^ ror(y, 19) ^ (y >>> 10));
    }
    let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (let i = 0; i < 64; i++) {
      const t = (h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      const u = ((ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t) | 0; d = c; c = b; b = a; a = (t + u) | 0;
    }
    s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
  };

  // solver returns a function that tries numbers for some milliseconds, and returns the proof or nothing.
  const solver = (token, bits) => {
    const text = token + '.', whole = text.length & ~63, rest = text.slice(whole);
    const bytes = new Uint8Array(128);
    const hash = (s, from, at, end) => {
      for (; at < end; at += 64) {
        for (let i = 0, j = at; i < 16; i++, j += 4) W[i] = (from[j] << 24) | (from[j + 1] << 16) | (from[j + 2] << 8) | from[j + 3];
        compress(s);
      }
      return s;
    };
    const middle = hash(start.slice(), new TextEncoder().encode(text), 0, whole);
    let number = 0;
    return (time) => {
      for (const end = Date.now() + time; Date.now() < end;) {
        for (let turn = 0; turn < 400; turn++, number++) {
          const tail = rest + number, size = tail.length, blocks = size > 55 ? 128 : 64;
          bytes.fill(0);
          for (let i = 0; i < size; i++) bytes[i] = tail.charCodeAt(i);
          bytes[size] = 128;
          for (let i = 1, n = (whole + size) * 8; i < 5; i++, n >>>= 8) bytes[blocks - i] = n;
          if (hash(middle.slice(), bytes, 0, blocks)[0] >>> (32 - bits) === 0) return text + number;
        }
      }
    };
  };

  if (typeof document === 'undefined') {
    onmessage = ({data: {token, bits}}) => {
      const step = solver(token, bits);
      let proof;
      while (!proof) proof = step(1000);
      postMessage(proof);
    };
    return;
  }

  const source = document.currentScript.src, address = source.replace(/\.js([?#].*)?$/, '');
  const language = () => '?language=' + encodeURIComponent(document.documentElement.lang);
  const plain = {credentials: 'omit', referrerPolicy: 'no-referrer'};

  // Other sites can't start a worker: they solve in slices.
  const solve = (task) => new Promise((done) => {
    const slices = () => {
      const step = solver(task.token, task.bits);
      const next = () => {
        const proof = step(12);
        if (proof) done(proof); else setTimeout(next);
      };
      next();
    };
    if (new URL(source).origin !== location.origin) return slices();
    try {
      const worker = new Worker(source);
      worker.onmessage = ({data}) => done(data, worker.terminate());
      worker.onerror = slices;
      worker.postMessage(task);
    } catch { slices(); }
  });

  let task, working = '', region;
  const prepare = () => {
    if (task && task.until > Date.now()) return task.proof;
    const mine = task = {until: Infinity};
    task.proof = fetch(address + '/challenge' + language(), plain).then(async (answer) => {
      if (!answer.ok) throw answer.status;
      const challenge = await answer.json();
      working = challenge.working;
      mine.until = Date.now() + (challenge.expires_in - 60) * 1000;
      return solve(challenge);
    });
    task.proof.catch(() => { task = null; });
    return task.proof;
  };

  const make = (kind, members) => Object.assign(document.createElement(kind), members);
  const say = (...lines) => region.replaceChildren(...lines.map((textContent) => make('p', {textContent})));
  const formOf = (e) => {
    const form = e.closest?.('form');
    if (!form || new URL(form.getAttribute('action') || '', document.baseURI).href.split(/[?#]/)[0] !== address) return;
    if (!region) (region = make('div', {className: 'mailer-answer', tabIndex: -1})).setAttribute('role', 'status');
    if (region.previousSibling !== form) form.after(region);
    return form;
  };

  let faults = [];
  const show = (form, answer) => {
    say(answer.message);
    for (const {field, message} of answer.errors) {
      const input = [...form.elements].find((e) => e.name === field);
      if (!input) continue;
      const text = make('p', {className: 'mailer-error', id: 'mailer-' + field, textContent: message});
      input.after(text);
      input.setAttribute('aria-invalid', 'true');
      input.setAttribute('aria-describedby', text.id);
      faults.push([input, text]);
    }
    if (faults[0]) faults[0][0].focus();
  };

  const post = async (form, body) => {
    for (const [name, value] of new FormData(form)) {
      if (name.endsWith('[]')) (body[name.slice(0, -2)] ||= []).push(value); else body[name] = value;
    }
    const answer = await fetch(address + language(), {...plain, method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
    if (!answer.ok && answer.status !== 422) throw answer.status;
    const said = await answer.json();
    task = null;
    if (!answer.ok) return show(form, said);
    form.style.display = 'none';
    say(said.title, ...said.text);
    region.focus();
    if (said.button) setTimeout(() => {
      region.append(make('button', {textContent: said.button.label, onclick: () => send(form, {'form-button': said.button.token})}));
    }, said.button.after_seconds * 1000);
  };

  let busy = false;
  const send = async (form, more) => {
    if (busy) return;
    busy = true;
    for (const [input, text] of faults) {
      text.remove();
      input.removeAttribute('aria-invalid');
      input.removeAttribute('aria-describedby');
    }
    faults = [];
    const native = () => HTMLFormElement.prototype.submit.call(form);
    try {
      if (!more) {
        say(working);
        more = {proof: await prepare()};
      }
      if (form.dataset.page) {
        form.append(make('input', {type: 'hidden', name: 'proof', value: more.proof}));
        native();
      } else await post(form, more);
    } catch { native(); }
    busy = false;
  };

  document.addEventListener('focusin', ({target}) => { if (formOf(target)) prepare().catch(() => {}); });
  document.addEventListener('submit', (event) => {
    if (event.defaultPrevented || !formOf(event.target)) return;
    event.preventDefault();
    send(event.target);
  });
})();
