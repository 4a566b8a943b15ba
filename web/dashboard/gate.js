// Common parts of pages without a sign-in: the frame, forms, and signing in.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError, forget } from './api.js';
import { language, languages, speak, t } from './i18n.js';
import { base, go } from './router.js';
import { keepLanguage } from './prefs.js';
import { signedIn } from './state.js';
import { Notice } from './ui/base.js';

/** The frame. @param {{title: string, wide?: boolean, onSubmit?: (e: any) => any, children: any}} props */
export function Gate({ title, wide = false, onSubmit, children }) {
	useEffect(() => {
		document.title = `${title} · Mailer`;
	}, [title]);
	const others = Object.entries(languages).filter(([id]) => id !== language.value);
	return html`<main class="gate"><form class=${`gate-box ${wide ? 'gate-box--wide' : ''}`} onSubmit=${(e) => {
		e.preventDefault();
		onSubmit?.(e);
	}}><span class="row"><span class="mark" aria-hidden="true">M</span><span class="medium">Mailer</span></span>${children}</form>
	<footer class="gate-foot"><span class="mono">${location.host}</span>${others.map(([id, name]) => html`<button type="button" class="gate-lang" lang=${id} onClick=${() => {
		keepLanguage(id);
		speak(id);
	}}>${name}</button>`)}</footer></main>`;
}

/**
 * A form: submit runs once at a time, error is the server's refusal, slow shows that it takes long.
 * @param {() => Promise<any>} act
 */
export function useForm(act) {
	const [state, set] = useState(/** @type {{busy: boolean, slow: boolean, error: ApiError|null}} */ ({ busy: false, slow: false, error: null }));
	const submit = async () => {
		if (state.busy) return;
		set({ busy: true, slow: false, error: null });
		const timer = setTimeout(() => set({ busy: true, slow: true, error: null }), 2500);
		let error = null;
		try {
			await act();
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			error = e;
		} finally {
			clearTimeout(timer);
		}
		set({ busy: false, slow: false, error });
	};
	return { ...state, submit, clear: () => set({ busy: false, slow: false, error: null }) };
}

/** The server's error for a field, or undefined. @param {ApiError|null} error @param {string} name */
export const about = (error, name) => (error?.name === 'validation_error' && error.message.startsWith(`\`${name}\``) ? sentence(error.message.slice(name.length + 2).trim()) : undefined);

const sentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The errors of a form that belong to no field. @param {{form: any, fields?: string[], words?: Record<string, string>}} props words: texts for names of errors. */
export function Said({ form, fields = [], words = {} }) {
	if (form.slow) return html`<${Notice} icon="lock">${t('signIn.slow')}<//>`;
	if (!form.error || fields.some((name) => about(form.error, name))) return null;
	return html`<${Notice} kind="bad">${words[form.error.name] ?? form.error.message}<//>`;
}

/** A page of the dashboard's own that an address names, else the overview. @param {string|null} to */
export function own(to) {
	if (!to?.startsWith('/')) return '/';
	const url = new URL(base + to, location.origin);
	if (url.origin !== location.origin || !url.pathname.startsWith(base + '/')) return '/';
	return url.pathname.slice(base.length) + url.search + url.hash;
}

/** Loads the signed-in person. */
export async function arrive() {
	forget();
	signedIn(await api.get('/users/me', undefined, { team: null }));
}

/** Opens the dashboard. @param {string|null} [to] */
export async function enter(to = null) {
	await arrive();
	go(own(to), { replace: true });
}
