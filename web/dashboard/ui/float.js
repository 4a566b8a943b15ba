// Floating parts: dialogs, toasts, menus. App draws one of each kind.
import { html, signal, useEffect, useRef, useState } from '../lib/core.js';
import { ApiError } from '../api.js';
import { t } from '../i18n.js';
import { number } from '../format.js';
import { place, setQuery } from '../router.js';
import { Button, dialogs, Icon, Input } from './base.js';

/** The dialogs that are open, the last on top. @type {any} */
const open = signal([]);

/**
 * Opens a dialog drawn by draw(close), and resolves to the argument of close.
 * @param {(close: (answer?: any) => void) => any} draw @returns {Promise<any>}
 */
export function dialog(draw) {
	return new Promise((done) => {
		const entry = {
			draw,
			close: (answer) => {
				open.value = open.value.filter((e) => e !== entry);
				dialogs.value = open.value.length;
				done(answer);
			},
		};
		open.value = [...open.value, entry];
		dialogs.value = open.value.length;
	});
}

/** Opens a dialog once where the address asks for it: links of first steps end with ?add=1. @param {() => void} open */
export function useAsked(open) {
	useEffect(() => {
		if (!place.value.query.get('add')) return;
		setQuery({ add: null });
		open();
	}, []);
}

/** The frame of a dialog's content. @param {{title: any, children: any, acts: any, onSubmit?: (e: any) => any, wide?: boolean}} props */
export const DialogBody = ({ title, children, acts, onSubmit }) => html`<form onSubmit=${(e) => {
	e.preventDefault();
	onSubmit?.(e);
}}><div class="dialog-body"><h2 id="dialog-title">${title}</h2>${children}</div><div class="dialog-acts">${acts}</div></form>`;

/**
 * Asks for confirmation before an action that can't be undone: title and text name what is
 * lost; above 1,000 the number n must be typed. Resolves to whether to continue.
 * @param {{title: string, text: any, act: string, keep?: string, n?: number}} ask
 */
export const confirm = ({ title, text, act, keep, n = 0 }) => dialog((close) => html`<${Confirm} ...${{ title, text, act, keep, n, close }} />`);

function Confirm({ title, text, act, keep, n, close }) {
	const [typed, type] = useState('');
	const held = n > 1000 && typed.replace(/\D/g, '') !== String(n);
	return html`<${DialogBody} title=${title} onSubmit=${() => held || close(true)} acts=${html`<${Button} onClick=${() => close(false)}>${keep ?? t('ui.keep')}<//><${Button} type="submit" kind="danger-solid" disabled=${held}>${act}<//>`}>
		<p>${text}</p>${n > 1000 && html`<${Input} label=${t('ui.typeNumber', { number: number(n) })} value=${typed} onInput=${type} inputmode="numeric" autocomplete="off" />`}<//>`;
}

/** Draws the dialogs. */
export function Dialogs() {
	return open.value.map((entry, i) => html`<${Dialog} key=${i} entry=${entry} />`);
}

function Dialog({ entry }) {
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		const element = box.current;
		element.showModal();
		return () => element.close();
	}, []);
	return html`<dialog class="dialog" ref=${box} aria-labelledby="dialog-title" onCancel=${(e) => {
		e.preventDefault();
		entry.close();
	}} onClick=${(e) => e.target === box.current && entry.close()}>${entry.draw(entry.close)}</dialog>`;
}

/** @type {any} */
const toasts = signal([]);

/**
 * Shows what was done; undo reverts it. kind "bad" stays until it is closed.
 * @param {any} text @param {{kind?: string, undo?: () => any, href?: string, word?: string}} [options]
 */
export function toast(text, { kind = 'good', undo, href, word } = {}) {
	const entry = { text, kind, undo, href, word };
	toasts.value = [...toasts.value.slice(-2), entry];
	if (kind !== 'bad') setTimeout(() => drop(entry), undo ? 8000 : 5000);
}

const drop = (entry) => {
	toasts.value = toasts.value.filter((e) => e !== entry);
};

/** Draws the toasts. */
export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">${toasts.value.map((entry) => html`<div class="toast"><${Icon} name=${entry.kind === 'bad' ? 'alert' : entry.kind === 'good' ? 'check' : 'info'} class=${entry.kind} /><span class="grow">${entry.text}</span>
	${entry.undo && html`<${Button} kind="quiet" onClick=${() => {
		drop(entry);
		return entry.undo();
	}}>${t('ui.undo')}<//>`}${entry.href && html`<a class="btn btn--quiet" href=${entry.href} onClick=${() => drop(entry)}>${entry.word}</a>`}
	<${Button} icon="x" kind="quiet" label=${t('ui.close')} onClick=${() => drop(entry)} /></div>`)}</div>`;

/**
 * Runs an action, and shows an error of the server in a toast. Resolves to the result of act,
 * or undefined if it failed.
 * @template T @param {() => Promise<T>} act @param {any} [done] what is said when it worked @param {any} [options] of the toast
 */
export async function attempt(act, done, options) {
	try {
		const result = await act();
		if (done) toast(typeof done === 'function' ? done(result) : done, options);
		return result;
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		toast(e.message, { kind: 'bad' });
		return undefined;
	}
}

/**
 * A button that opens a menu of acts: {icon, name, run, danger?, disabled?, href?, checked?}; checked: the one in use of several; null is a line.
 * @param {{items: any[], label: string, icon?: string, children?: any, kind?: string, class?: string}} props
 */
export function Menu({ items, label, icon = 'more', children, kind = '', class: more = '' }) {
	const [shown, show] = useState(false);
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		if (!shown) return;
		(box.current.querySelector('[aria-checked="true"]') ?? box.current.querySelector('[role^="menuitem"]'))?.focus();
		const away = (e) => box.current?.contains(e.target) || show(false);
		addEventListener('pointerdown', away);
		return () => removeEventListener('pointerdown', away);
	}, [shown]);
	const keys = (e) => {
		if (!shown) return;
		const all = [...box.current.querySelectorAll('[role^="menuitem"]')];
		const at = all.indexOf(document.activeElement);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
		if (e.key === 'Escape' || e.key === 'Tab') {
			show(false);
			if (e.key !== 'Escape') return;
			e.preventDefault();
			box.current.querySelector('button')?.focus();
		} else if (to !== undefined) {
			e.preventDefault();
			all[(to + all.length) % all.length]?.focus();
		}
	};
	const some = items.filter((item, i, all) => item !== undefined && item !== false && !(item === null && (i === 0 || i === all.length - 1)));
	return html`<span class="menu-wrap" ref=${box} onKeyDown=${keys}>
		<button type="button" class=${more || `btn ${kind && `btn--${kind}`} ${children ? '' : 'btn--icon'}`} aria-haspopup="menu" aria-expanded=${String(shown)} aria-label=${children ? undefined : label} title=${children ? undefined : label} onClick=${() => show(!shown)}>${children ?? html`<${Icon} name=${icon} />`}</button>
		${shown && html`<div class="menu menu--float" role="menu" aria-label=${label}>${some.map((item) => item === null ? html`<hr />` : item.href
			? html`<a class="menu-item" role="menuitem" tabindex="-1" href=${item.href} download=${item.download} onClick=${() => show(false)}>${item.icon && html`<${Icon} name=${item.icon} />`}<span class="cut">${item.name}</span>${item.note && html`<span class="menu-note">${item.note}</span>`}</a>`
			: html`<button type="button" class=${`menu-item ${item.danger ? 'bad' : ''}`} role=${item.checked === undefined ? 'menuitem' : 'menuitemradio'} tabindex="-1" disabled=${item.disabled} aria-checked=${item.checked === undefined ? undefined : String(item.checked)} onClick=${() => {
				show(false);
				item.run();
			}}>${item.icon && html`<${Icon} name=${item.icon} />`}<span class="cut">${item.name}</span>${item.note && html`<span class="menu-note">${item.note}</span>`}${item.checked && html`<${Icon} name="check" class="push" />`}</button>`)}</div>`}</span>`;
}
