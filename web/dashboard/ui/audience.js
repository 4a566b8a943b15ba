// Common parts of the audience pages: the tabs, the search box, forms in dialogs, and the
// name of a contact.
import { html, useEffect, useRef, useState } from '../lib/core.js';
import { api, ApiError } from '../api.js';
import { t } from '../i18n.js';
import { base, setQuery } from '../router.js';
import { Button, Check, Icon, Notice, Sections, Status } from './base.js';
import { dialog, DialogBody } from './float.js';

/** The pages of the audience, in the order that they are shown in. */
const pages = ['contacts', 'forms', 'segments', 'topics', 'properties', 'imports', 'suppressions'];

/** The links between the pages of the audience; at is the page, like "contacts". @param {{at: string}} props */
export const AudienceSections = ({ at }) => html`<${Sections} label=${t('audience.title')} at=${`${base}/${at}`} links=${pages.map((page) => [t(`audience.${page}`), `${base}/${page}`])} />`;

/** A search box; its text goes to the address bar after a pause in typing. @param {{label: string, value: string, name?: string}} props */
export function Search({ label, value, name = 'search' }) {
	const [typed, type] = useState(value);
	const written = useRef(value);
	useEffect(() => {
		if (value !== written.current) type(value);
		written.current = value;
	}, [value]);
	useEffect(() => {
		if (typed.trim() === written.current) return;
		const timer = setTimeout(() => {
			written.current = typed.trim();
			setQuery({ [name]: written.current });
		}, 250);
		return () => clearTimeout(timer);
	}, [typed]);
	return html`<div class="query"><div class="query-box"><${Icon} name="search" /><input class="query-input" type="search" aria-label=${label} placeholder=${label} value=${typed} onInput=${(e) => type(e.currentTarget.value)} spellcheck="false" autocomplete="off" /></div></div>`;
}

/**
 * A form in a dialog. fields(values, set) draws it, send(values) sends it; errors are shown in the
 * dialog. Resolves to the result of send, or undefined if it was closed.
 * @param {{title: any, start: any, fields: (values: any, set: (change: any) => void) => any, act: string, send: (values: any) => Promise<any>, kind?: string}} options
 */
export const form = (options) => dialog((close) => html`<${Form} ...${options} close=${close} />`);

function Form({ title, start, fields, act, send, kind = 'primary', close }) {
	const [values, setValues] = useState(start);
	const [refused, setRefused] = useState('');
	const [busy, setBusy] = useState(false);
	const submit = async () => {
		if (busy) return;
		setBusy(true);
		try {
			close((await send(values)) ?? true);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
			setBusy(false);
		}
	};
	return html`<${DialogBody} title=${title} onSubmit=${submit} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind=${kind} disabled=${busy}>${act}<//>`}>
		${refused && html`<${Notice} kind="bad">${refused}<//>`}${fields(values, (change) => setValues((before) => ({ ...before, ...change })))}<//>`;
}

/**
 * Boxes to tick for things of a list: [id, name]. value are the ids that are ticked.
 * @param {{title: string, options: string[][], value: string[], onChange: (ids: string[]) => void}} props
 */
export const Ticks = ({ title, options, value, onChange }) => options.length > 0 && html`<fieldset class="field"><legend class="field-label">${title}</legend>${options.map(([id, name]) => html`<${Check} key=${id} label=${name} checked=${value.includes(id)} onChange=${(on) => onChange(on ? [...value, id] : value.filter((one) => one !== id))} />`)}</fieldset>`;

/** The name of a contact, or nothing. @param {any} contact */
export const nameOf = (contact) => [contact.first_name, contact.last_name].filter(Boolean).join(' ');

/** Whether a contact gets marketing mail. @param {{of: any}} props */
export const Subscribed = ({ of }) => html`<${Status} of=${of.unsubscribed ? 'canceled' : 'open'} word=${t(of.unsubscribed ? 'contacts.unsubscribed' : 'contacts.subscribed')} />`;

/** How many contacts POST /segments/preview finds, {count, exact}; null while it is asked. @param {any} body */
export function useCount(body) {
	const [answer, setAnswer] = useState(/** @type {any} */ (null));
	const key = JSON.stringify(body);
	useEffect(() => {
		const end = new AbortController();
		api.read('/segments/preview', body, { signal: end.signal }).then(setAnswer, (error) => {
			if (!(error instanceof ApiError) && !end.signal.aborted) throw error;
		});
		return () => end.abort();
	}, [key]);
	return answer;
}
