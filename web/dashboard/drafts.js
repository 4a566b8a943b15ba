// Autosave of drafts: within two seconds. Unsaved changes are kept in the browser, and
// conflicts with another editor are reported.
import { html, useEffect, useMemo, useRef, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { exact, seconds } from './format.js';
import { t } from './i18n.js';
import { mergedVariants } from './variants.js';
import { Button, Icon, Notice } from './ui/base.js';

/** How long after a change it is saved, and tried again, in ms. */
const rest = 800;
const retry = 5000;

const prefix = 'mailer.draft.';
const place = (id) => prefix + id;

/** Forgets local copies of drafts: the next person is another one. */
export function forgetDrafts() {
	try {
		for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
	} catch { /* a browser that keeps nothing has nothing to forget */ }
}

function stored(key) {
	try {
		return JSON.parse(localStorage.getItem(key) ?? 'null');
	} catch {
		return null;
	}
}

function store(key, value) {
	try {
		if (value) localStorage.setItem(key, JSON.stringify(value));
		else localStorage.removeItem(key);
	} catch { /* a text too long for the browser: the server has it within two seconds */ }
}

/**
 * The place in a text that a refusal names: the server answers with the field, its language, the
 * line and the column. @param {string} message
 * @returns {{field: string, language: string, line: number, column: number}|null}
 */
export function placeOf(message) {
	const at = /\(line (\d+)(?:, column (\d+))?\)$/.exec(message);
	const field = /(?:variants\.([\w-]+)\.)?\b(subject|preview_text|html|text)\b/.exec(message);
	return at && field ? { language: field[1] ?? '', field: field[2], line: Number(at[1]), column: Number(at[2] ?? 1) } : null;
}

/** The state of saving one draft, for the lifetime of its page. */
class Saver {
	/** @type {any} */ id;
	/** @type {any} */ path;
	/** @type {any} */ revision;
	/** @type {any} */ body;
	/** @type {any} */ draw;
	/** @type {any} */ keepSoon = null;
	/** @type {any} */ due = null;
	/** @type {any} */ at = null;
	/** @type {any} */ answer = null;
	hurried = false;

	constructor({ id, path, server, revision, body, draw }) {
		Object.assign(this, { id, path, revision, body, draw });
		this.value = { ...server };
		this.base = { ...server }; // what the server has of this draft, as far as is known
		this.began = revision(server);
		this.dirty = new Set();
		/** @type {{kind: string, at?: number, message?: string, place?: any}} */
		this.state = { kind: 'saved', at: 0 };
		this.stamp = 0; // counts external updates
		this.saved = 0; // counts saves
		const left = stored(place(id));
		if (left) store(`${place(id)}.kept`, left);
		this.kept = stored(`${place(id)}.kept`);
		if (this.kept && Object.keys(this.kept.value).every((k) => JSON.stringify(this.kept.value[k]) === JSON.stringify(server[k]))) this.forget();
		store(place(id), null);
	}

	change(parts) {
		this.value = { ...this.value, ...parts };
		for (const name of Object.keys(parts)) this.dirty.add(name);
		this.keepSoon ??= setTimeout(() => this.keep(), 250);
		if (this.state.kind === 'failed' && !this.hurried) { // another value may be accepted now
			clearTimeout(this.due);
			this.due = null;
			this.hurried = true;
		}
		if (this.state.kind !== 'conflict') this.due ??= setTimeout(() => this.save(), rest);
		this.draw();
	}

	/** Keeps unsaved changes in the browser. */
	keep() {
		clearTimeout(this.keepSoon);
		this.keepSoon = null;
		store(place(this.id), this.dirty.size ? { at: Date.now(), value: Object.fromEntries([...this.dirty].map((name) => [name, this.value[name]])) } : null);
	}

	async save() {
		clearTimeout(this.due);
		this.due = null;
		this.hurried = false;
		if (this.at) { // the previous save is running
			await this.at;
			if (!this.dirty.size) return this.state.kind === 'saved';
		}
		if (!this.dirty.size) return true;
		this.at = this.send();
		const done = await this.at;
		this.at = null;
		return done;
	}

	async send() {
		const names = [...this.dirty];
		const sent = Object.fromEntries(names.map((name) => [name, this.value[name]]));
		this.state = { kind: 'saving' };
		this.draw();
		try {
			const body = this.body(sent, this.value, this.base);
			const answer = await api.patch(this.path, { ...body, revision: this.began });
			this.began = this.revision(answer);
			this.answer = answer;
			this.base = { ...this.base, ...sent };
			for (const name of names) if (this.value[name] === sent[name]) this.dirty.delete(name);
			this.state = { kind: 'saved', at: Date.now() };
			this.saved++;
			if (this.dirty.size) this.due ??= setTimeout(() => this.save(), rest);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			if (e.status === 409 && e.name === 'conflict') this.state = { kind: 'conflict' };
			else if (e.status === 422) this.state = { kind: 'refused', message: e.message, place: placeOf(e.message) };
			else {
				this.state = { kind: 'failed', message: e.message };
				this.due ??= setTimeout(() => this.save(), retry);
			}
		}
		this.keep();
		this.draw();
		return this.state.kind === 'saved';
	}

	/** Loads the server's state; mine: writes the local changes over it. */
	async settle(mine) {
		const now = await api.get(this.path);
		if (!mine) {
			this.take(now);
			return true;
		}
		this.began = this.revision(now);
		const own = Object.fromEntries([...this.dirty].map((name) => [name, this.value[name]]));
		if (own.variants) own.variants = mergedVariants(now.variants, this.base.variants, own.variants);
		this.value = { ...now, ...own };
		this.base = { ...now };
		this.stamp++;
		this.draw();
		return this.save();
	}

	take(now) {
		clearTimeout(this.due);
		this.due = null;
		this.dirty.clear();
		this.value = { ...now };
		this.base = { ...now };
		this.began = this.revision(now);
		this.state = { kind: 'saved', at: 0 };
		this.stamp++;
		this.saved++;
		this.keep();
		this.draw();
	}

	/** Shows in the editors what was changed beside them. */
	redraw() {
		this.stamp++;
		this.draw();
	}

	/** Restores changes kept in the browser. */
	takeBack() {
		const { value } = this.kept;
		this.stamp++;
		this.drop();
		this.change(value);
	}

	forget() {
		this.kept = null;
		store(`${place(this.id)}.kept`, null);
	}

	drop() {
		this.forget();
		this.draw();
	}

	end() {
		this.keep();
		clearTimeout(this.due);
		if (this.dirty.size && this.state.kind !== 'conflict') this.save();
		this.draw = () => {};
	}
}

/**
 * A draft that is saved while it is written.
 * @param {{id: string, path: string, server: any, revision: (answer: any) => string, body: (changed: any, value: any, base: any) => any}} options
 * server is the answer to GET; body makes the PATCH of the changes to base.
 * @returns {{value: any, state: any, stamp: number, saved: number, kept: any, answer: any, path: string, unsaved: boolean, change: (parts: any) => void,
 * save: () => Promise<boolean>, settle: (mine: boolean) => Promise<boolean>, take: (answer: any) => void, takeBack: () => void, drop: () => void, redraw: () => void, now: () => any, refused: any}}
 */
export function useDraft(options) {
	const [, tick] = useState(0);
	const alive = useRef(true);
	const saver = useMemo(() => new Saver({ ...options, draw: () => alive.current && tick((n) => n + 1) }), [options.id]);
	useEffect(() => {
		alive.current = true;
		const hide = () => {
			saver.keep();
			if (saver.dirty.size && saver.state.kind !== 'conflict') saver.save();
		};
		addEventListener('pagehide', hide);
		document.addEventListener('visibilitychange', hide);
		return () => {
			alive.current = false;
			removeEventListener('pagehide', hide);
			document.removeEventListener('visibilitychange', hide);
			saver.end();
		};
	}, [saver]);
	// A new object each time: components that read signals are not drawn again for the same one.
	const { value, state, stamp, saved, kept, answer, path } = saver;
	return {
		value, state, stamp, saved, kept, answer, path, unsaved: saver.dirty.size > 0,
		change: (parts) => saver.change(parts), save: () => saver.save(), settle: (mine) => saver.settle(mine), take: (now) => saver.take(now),
		takeBack: () => saver.takeBack(), drop: () => saver.drop(), redraw: () => saver.redraw(), now: () => saver.value,
		refused: state.kind === 'refused' ? state : null,
	};
}

/** How far the saving is. @param {{draft: any}} props */
export function Saved({ draft }) {
	const { state } = draft;
	if (state.kind === 'failed') return html`<span class="saved bad" role="status"><${Icon} name="alert" /><span class="cut" title=${state.message}>${t('drafts.failed', { message: state.message })}</span></span>`;
	if (state.kind === 'refused') return html`<span class="saved bad" role="status"><${Icon} name="alert" /><span class="cut" title=${state.message}>${t('drafts.refused', { message: state.message })}</span></span>`;
	if (state.kind === 'conflict') return html`<span class="saved warn" role="status"><${Icon} name="alert" /><span class="cut">${t('drafts.conflict')}</span></span>`;
	if (state.kind === 'saving' || draft.unsaved) return html`<span class="saved" role="status"><span class="spin"></span>${t('drafts.saving')}</span>`;
	return html`<span class="saved" role="status"><${Icon} name="check" />${state.at ? html`<time datetime=${new Date(state.at).toISOString()} title=${exact(new Date(state.at))}>${t('drafts.saved', { time: seconds(state.at) })}</time>` : t('drafts.asRead')}</span>`;
}

/** Conflicts of a draft: unsaved local text, or another editor. @param {{draft: any}} props */
export function Left({ draft }) {
	if (draft.state.kind === 'conflict') return html`<${Notice} kind="warn" act=${html`<span class="row row--wrap"><${Button} onClick=${() => draft.settle(false)}>${t('drafts.theirs')}<//><${Button} onClick=${() => draft.settle(true)}>${t('drafts.mine')}<//></span>`}>${t('drafts.conflictText')}<//>`;
	if (!draft.kept) return null;
	return html`<${Notice} act=${html`<span class="row row--wrap"><${Button} onClick=${() => draft.takeBack()}>${t('drafts.takeBack')}<//><${Button} kind="quiet" onClick=${() => draft.drop()}>${t('drafts.drop')}<//></span>`}>${t('drafts.kept', { time: seconds(draft.kept.at) })}<//>`;
}
