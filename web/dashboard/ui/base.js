// Small parts that every page is made of. Classes are those of app.css.
import { html, signal, useEffect, useId, useRef, useState } from '../lib/core.js';
import { ago, clock, exact, number, relative } from '../format.js';
import { helpOf } from '../help.js';
import { t } from '../i18n.js';
import { fileAt } from '../paths.js';
import { place } from '../router.js';

const icons = fileAt('icons.svg').pathname;

/** An icon of icons.svg. @param {{name: string, class?: string}} props */
export const Icon = ({ name, class: more = '' }) => html`<svg class=${`icon ${more}`} aria-hidden="true"><use href=${`${icons}#i-${name}`} /></svg>`;

/** The number of open dialogs. A button whose action opened a dialog is not busy meanwhile. */
export const dialogs = signal(0);

/**
 * A button; with href a link that looks like one. An icon alone needs label. Busy while onClick runs, or as busy says.
 * @param {{icon?: string, label?: string, kind?: string, href?: string, onClick?: (e: any) => any, disabled?: boolean, type?: string, children?: any, class?: string, busy?: boolean, [more: string]: any}} props
 */
export function Button({ icon, label, kind = '', href, onClick, disabled, type = 'button', children, class: more = '', busy: held = false, ...rest }) {
	const [own, setOwn] = useState(-1); // open dialogs when its action began; -1: none is running
	const busy = (own >= 0 && dialogs.value <= own) || held;
	const alive = useRef(true);
	useEffect(() => () => {
		alive.current = false;
	}, []);
	const classes = ['btn', ...kind.split(' ').filter(Boolean).map((k) => `btn--${k}`), children ? '' : 'btn--icon', more].filter(Boolean).join(' ');
	const inside = html`${busy ? html`<span class="spin"></span>` : icon && html`<${Icon} name=${icon} />`}${children}`;
	if (href) return html`<a class=${classes} href=${href} aria-label=${label} title=${label} ...${rest}>${inside}</a>`;
	const run = async (e) => {
		if (own >= 0 || held || !onClick) return;
		const before = dialogs.value;
		const doing = onClick(e);
		if (!doing?.then) return;
		setOwn(before);
		try {
			await doing;
		} finally {
			if (alive.current) setOwn(-1);
		}
	};
	return html`<button type=${type} class=${classes} onClick=${run} disabled=${disabled} aria-busy=${busy ? 'true' : undefined} aria-label=${label} title=${label} ...${rest}>${inside}</button>`;
}

/**
 * The kind and icon of each status; texts are under "status". Icons with the prefix st- are
 * for states of mail and relays only; the others are ✓, ! and –.
 */
const states = {
	queued: ['', 'st-queued'], scheduled: ['', 'st-scheduled'], sent: ['', 'st-sent'], delivered: ['good', 'st-delivered'], opened: ['good', 'st-opened'], clicked: ['good', 'st-clicked'],
	delivery_delayed: ['warn', 'st-delayed'], bounced: ['bad', 'st-bounced'], failed: ['bad', 'st-bounced'], complained: ['bad', 'st-complained'], suppressed: ['', 'st-suppressed'], canceled: ['', 'st-canceled'],
	received: ['', 'mail'], deferred: ['warn', 'st-delayed'], captured: ['', 'st-captured'], held: ['warn', 'st-resting'], open: ['good', 'st-open'], resting: ['warn', 'st-resting'], paused: ['', 'st-resting'], failing: ['bad', 'st-failing'], down: ['bad', 'st-failing'],
	sending: ['', 'st-sent'], completed: ['good', 'check'], draft: ['', 'edit'], published: ['good', 'check'], enabled: ['good', 'check'], disabled: ['bad', 'minus'],
	verified: ['good', 'check'], pending: ['warn', 'alert'], not_started: ['', 'minus'], temporary_failure: ['warn', 'alert'], missing: ['bad', 'alert'], wrong: ['bad', 'alert'],
	ok: ['good', 'check'], good: ['good', 'check'], warn: ['warn', 'alert'], bad: ['bad', 'alert'], neutral: ['', 'minus'],
};

/** A status: its icon, colour and text. @param {{of: string, word?: string}} props */
export function Status({ of, word }) {
	const [kind, icon] = states[of] ?? ['', 'minus'];
	return html`<span class=${`status ${kind && `status--${kind}`}`}><${Icon} name=${icon} />${word ?? t(`status.${of}`)}</span>`;
}

/** A time: relative, with the exact one on hover. @param {{at: string|null|undefined, as?: 'relative'|'ago'|'clock'|'both'}} props */
export function Time({ at, as = 'relative' }) {
	const [, tick] = useState(0);
	useEffect(() => {
		if (!at || as === 'clock') return;
		// Texts with seconds are drawn each second.
		const young = Math.abs(Date.now() - new Date(at).getTime()) < 60_000;
		const timer = setTimeout(() => tick((n) => n + 1), young ? 1000 : 15_000);
		return () => clearTimeout(timer);
	});
	if (!at) return html`<span class="muted">–</span>`;
	return html`<time datetime=${at} title=${exact(at)}>${as === 'clock' ? clock(at) : as === 'ago' ? ago(at) : as === 'both' ? t('time.both', { clock: clock(at), relative: relative(at) }) : relative(at)}</time>`;
}

/** Runs close on Escape, unless a dialog or a menu has the key. @param {() => void} close @param {boolean} [on] */
export function useEscape(close, on = true) {
	useEffect(() => {
		if (!on) return;
		const keys = (/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && !e.defaultPrevented && !dialogs.value && close();
		addEventListener('keydown', keys);
		return () => removeEventListener('keydown', keys);
	});
}

/** Copies a text; reports whether it could. @param {string} text */
export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch { // pages without TLS have no clipboard
		const area = document.createElement('textarea');
		area.value = text;
		area.className = 'vh';
		document.body.append(area);
		area.select();
		const done = document.execCommand('copy');
		area.remove();
		return done;
	}
}

/** An id, key or host that a click copies. shown keeps the icon. @param {{text: string, show?: any, shown?: boolean, mono?: boolean}} props */
export function Copy({ text, show, shown = false, mono = true }) {
	const [done, setDone] = useState(false);
	const click = async (e) => {
		e.preventDefault();
		e.stopPropagation();
		setDone(await copy(text));
		setTimeout(() => setDone(false), 1500);
	};
	return html`<button type="button" class=${`copy ${shown ? 'copy--shown' : ''} ${done ? 'is-done' : ''}`} title=${t('ui.copy')} onClick=${click}>
		<span class=${`cut ${mono ? 'mono' : ''}`}>${show ?? text}</span><${Icon} name=${done ? 'check' : 'copy'} /><span class="vh" role="status">${done ? t('ui.copied') : ''}</span></button>`;
}

/** An id, shortened. @param {{of: string}} props */
export const Id = ({ of }) => html`<${Copy} text=${of} show=${of.length > 20 ? `${of.slice(0, 8)}…${of.slice(-6)}` : of} />`;

/** The head of a page: title or path, and acts. @param {{title: any, path?: [string, string][], note?: any, under?: any, children?: any, text?: string}} props text is the document's title, where title is none; under: the title has a line of its own, and this below. */
export function Head({ title, path, note, under, children, text }) {
	const words = text ?? (typeof title === 'string' ? title : '');
	useEffect(() => {
		document.title = words ? `${words} · Mailer` : 'Mailer';
	}, [words]);
	return html`<header class=${`head ${under ? 'head--thing' : ''}`}>${path && under
		? html`<div class="head-thing"><nav class="crumbs" aria-label=${t('ui.path')}>${path.map(([name, to]) => html`<a href=${to}><${Icon} name="left" />${name}</a>`)}${note}</nav><h1>${title}</h1><p class="head-under">${under}</p></div>`
		: path
		? html`<nav class="crumbs" aria-label=${t('ui.path')}>${path.map(([name, to]) => html`<a href=${to}>${name}</a><${Icon} name="right" />`)}<h1 class="cut" aria-current="page">${title}</h1>${note}</nav>`
		: html`<div class="head-title"><h1>${title}</h1>${note}</div>`}
		<a class="head-help" href=${helpOf(place.value.path)} aria-label=${t('ui.manual')} title=${t('ui.manual')}><${Icon} name="info" /></a>
		${children && html`<div class="head-acts">${children}</div>`}</header>`;
}

/** Links of sections that have an address each: [name, address, count?]. @param {{label: string, links: any[][], at: string}} props */
export const Sections = ({ label, links, at }) => html`<nav class="tabs" aria-label=${label}>${links.map(([name, to, count]) => html`<a class="tab" href=${to} aria-current=${to === at ? 'page' : undefined}>${name}${count !== undefined && html` <span class="tab-count">${typeof count === 'number' ? number(count) : count}</span>`}</a>`)}</nav>`;

/** Tabs of one thing: [id, name, count?]. Arrow keys move. @param {{label: string, tabs: any[][], at: string, onChange: (id: string) => void, in?: boolean}} props */
export function Tabs({ label, tabs, at, onChange, in: within = false }) {
	const keys = (e) => {
		const i = tabs.findIndex(([id]) => id === at);
		const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		const next = tabs[(to + tabs.length) % tabs.length][0];
		onChange(next);
		const list = e.currentTarget;
		requestAnimationFrame(() => list.querySelector('[aria-selected="true"]')?.focus());
	};
	const list = useRef(/** @type {any} */ (null));
	useEffect(() => {
		// The one that is shown is in sight where not all are.
		const row = list.current;
		const tab = row.querySelector('[aria-selected="true"]');
		if (!tab) return;
		const start = tab.offsetLeft - row.offsetLeft;
		row.scrollLeft = Math.max(start + tab.offsetWidth + 16 - row.clientWidth, Math.min(row.scrollLeft, start - 16));
	}, [at]);
	return html`<div class=${`tabs ${within ? 'tabs--in' : ''}`} role="tablist" ref=${list} aria-label=${label} onKeyDown=${keys}>${tabs.map(([id, name, count]) => html`<button type="button" class="tab" role="tab" key=${id} aria-selected=${String(id === at)} tabindex=${id === at ? undefined : -1} onClick=${() => onChange(id)}>${name}${count ? html` <span class="tab-count">${typeof count === 'number' ? number(count) : count}</span>` : null}</button>`)}</div>`;
}

/** A choice of few: [value, text or icon, label?]. @param {{label: string, options: any[][], value: string, onChange: (value: string) => void}} props */
export const Seg = ({ label, options, value, onChange }) => html`<div class="seg" role="group" aria-label=${label}>${options.map(([id, name, icon]) => html`<button type="button" key=${id} aria-pressed=${String(id === value)} aria-label=${icon ? name : undefined} title=${icon ? name : undefined} onClick=${() => onChange(id)}>${icon ? html`<${Icon} name=${icon} />` : name}</button>`)}</div>`;

/** A field with its label, hint and error. children is a function of the input's attributes. @param {{label: any, hint?: any, error?: any, children: (attributes: any) => any}} props */
export function Field({ label, hint, error, children }) {
	const id = useId();
	const about = error ? `${id}e` : hint ? `${id}h` : undefined;
	return html`<div class="field"><label class="field-label" for=${id}>${label}</label>
		${children({ id, 'aria-describedby': about, 'aria-invalid': error ? 'true' : undefined })}
		${error ? html`<span class="field-error" id=${`${id}e`} role="alert"><${Icon} name="alert" />${error}</span>` : hint && html`<span class="field-hint" id=${`${id}h`}>${hint}</span>`}</div>`;
}

/** A line to type into. @param {{label: any, value: string, onInput: (value: string) => void, hint?: any, error?: any, mono?: boolean, class?: string, lines?: number, [more: string]: any}} props */
export const Input = ({ label, value, onInput, hint, error, mono, class: more = '', lines, ...rest }) => html`<${Field} label=${label} hint=${hint} error=${error}>${(attributes) => lines
	? html`<textarea class=${`input ${mono ? 'mono' : ''} ${more}`} rows=${lines} onInput=${(e) => onInput(e.currentTarget.value)} ...${attributes} ...${rest} value=${value}></textarea>`
	: html`<input class=${`input ${mono ? 'mono' : ''} ${more}`} value=${value} onInput=${(e) => onInput(e.currentTarget.value)} ...${attributes} ...${rest} />`}<//>`;

/** A choice of several: [value, text]. @param {{label: any, value: string, options: string[][], onChange: (value: string) => void, hint?: any, error?: any, bare?: boolean, [more: string]: any}} props bare: the label is for readers alone. */
export function Select({ label, value, options, onChange, hint, error, bare = false, ...rest }) {
	const box = (attributes) => html`<span class="select-wrap"><select class="select" value=${value} onChange=${(e) => onChange(e.currentTarget.value)} ...${attributes} ...${rest}>${options.map(([id, name]) => html`<option value=${id} selected=${id === value}>${name}</option>`)}</select><${Icon} name="down" /></span>`;
	return bare ? box({ 'aria-label': label }) : html`<${Field} label=${label} hint=${hint} error=${error}>${box}<//>`;
}

/** A box to tick; switch looks like a switch, radio like one of several. @param {{label: any, checked: boolean, onChange: (checked: boolean) => void, kind?: 'switch'|'radio', name?: string, disabled?: boolean, hidden?: boolean}} props hidden: the label is for readers alone. */
export const Check = ({ label, checked, onChange, kind, name, disabled, hidden }) => html`<label class=${`check ${kind === 'switch' ? 'switch' : ''}`}><input type=${kind === 'radio' ? 'radio' : 'checkbox'} role=${kind === 'switch' ? 'switch' : undefined} name=${name} checked=${checked} disabled=${disabled} aria-label=${hidden ? label : undefined} onChange=${(e) => onChange(e.currentTarget.checked)} />${hidden ? null : label}</label>`;

/** A line about something. @param {{kind?: string, icon?: string, children: any, act?: any}} props */
export const Notice = ({ kind = '', icon = kind === 'bad' || kind === 'warn' ? 'alert' : kind === 'good' ? 'check' : 'info', children, act }) => html`<div class=${`notice wide ${kind && `notice--${kind}`}`} role=${kind === 'bad' ? 'alert' : undefined}><${Icon} name=${icon} /><p class="grow">${children}</p>${act}</div>`;

/** Rows as they will be in a list that is empty: the cells of each. @param {{rows: any[][]}} props */
const Ghost = ({ rows }) => html`<table class="table table--fixed ghost" aria-hidden="true"><tbody>${rows.map((cells) => html`<tr>${cells.map((cell, i) => html`<td class=${i === 0 ? 'cell-cut' : i === cells.length - 1 ? 'num w-to' : 'cell-cut hide-s'}>${cell}</td>`)}</tr>`)}</tbody></table>`;

/** An empty state, and the next step. ghost: placeholder rows. @param {{icon: string, title: any, children?: any, act?: any, ghost?: any[][]}} props */
export const Empty = ({ icon, title, children, act, ghost }) => html`${ghost && html`<${Ghost} rows=${ghost} />`}<div class="empty"><${Icon} name=${icon} /><h3>${title}</h3>${children && html`<p>${children}</p>`}${act && html`<div class="row">${act}</div>`}</div>`;

/** A request that failed: code, cause, the request's id, and another try. @param {{error: any, retry?: () => any, title?: string}} props */
export const Failed = ({ error, retry, title }) => html`<div class="empty" role="alert"><${Icon} name="alert" class="bad" /><h3>${title ?? (error.status === 404 ? t('ui.gone') : t('ui.unread'))}</h3>
	<p>${error.message}${error.status ? html` <span class="muted">${error.status} ${error.name}</span>` : ''}${error.request && error.status >= 500 ? html` ${t('ui.request')} <code>${error.request}</code>` : ''}</p>
	${retry && html`<div class="row"><${Button} icon="refresh" onClick=${retry}>${t('ui.again')}<//></div>`}</div>`;

/** Placeholder rows, after 150 ms. @param {{rows?: number}} props */
export function Bones({ rows = 8 }) {
	const [shown, show] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => show(true), 150);
		return () => clearTimeout(timer);
	}, []);
	return html`<div class="bones" role="status"><span class="vh">${t('ui.loading')}</span>${shown && html`<table class="table table--rows table--fixed" aria-hidden="true"><tbody>${Array.from({ length: rows }, () => html`<tr><td class="w-status"><span class="bone bone--1"></span></td><td class="w-to hide-s"><span class="bone bone--2"></span></td><td><span class="bone bone--3"></span></td><td class="w-age"><span class="bone bone--4"></span></td></tr>`)}</tbody></table>`}</div>`;
}

/** A list of names and values: [name, value]; pairs without a value are left out. @param {{pairs: any[][], class?: string}} props */
export const Facts = ({ pairs, class: more = '' }) => html`<dl class=${`kv ${more}`}>${pairs.filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

/** A part of a page. @param {{title?: any, acts?: any, children: any, id?: string}} props */
export function Section({ title, acts, children }) {
	const id = useId();
	return html`<section class="section" aria-labelledby=${title ? id : undefined}>${title && html`<div class="section-head"><h2 id=${id}>${title}</h2>${acts}</div>`}${children}</section>`;
}

/** Code to copy. tabs: [id, name]. @param {{code: string, name?: any, tabs?: string[][], at?: string, onTab?: (id: string) => void}} props */
export const Code = ({ code, name, tabs, at, onTab }) => html`<div class="code"><div class="code-head">${tabs ? html`<div class="row" role="tablist" aria-label=${name}>${tabs.map(([id, word]) => html`<button type="button" class="tab" role="tab" aria-selected=${String(id === at)} onClick=${() => onTab?.(id)}>${word}</button>`)}</div>` : html`<span>${name}</span>`}<span class="push"></span><${CopyButton} text=${code} /></div><pre tabindex="0">${code}</pre></div>`;

/** @param {{text: string, label?: string}} props */
export function CopyButton({ text, label }) {
	const [done, setDone] = useState(false);
	return html`<${Button} icon=${done ? 'check' : 'copy'} kind="quiet" label=${label ?? t('ui.copy')} onClick=${async () => {
		setDone(await copy(text));
		setTimeout(() => setDone(false), 1500);
	}} />`;
}

/** The verdict: what happened and why, what to do, and actions. @param {{kind: string, icon?: string, line: any, fix?: any, acts?: any}} props */
export const Verdict = ({ kind, icon, line, fix, acts }) => html`<section class=${`verdict verdict--${kind}`} aria-label=${t('ui.verdict')}><${Icon} name=${icon ?? ({ good: 'check', warn: 'alert', bad: 'alert' }[kind] ?? 'info')} /><p class="verdict-line">${line}</p>${fix && html`<p class="verdict-fix">${fix}</p>`}${acts && html`<div class="verdict-acts">${acts}</div>`}</section>`;
