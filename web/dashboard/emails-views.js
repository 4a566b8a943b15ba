// Views of the emails: built-in ones, and those saved in this browser.
import { html, useState } from './lib/core.js';
import { addressOf } from './emails-query.js';
import { t } from './i18n.js';
import { base, go } from './router.js';
import { me, team } from './state.js';
import { Button, Icon, Input } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';

const everybodys = [['all', {}], ['delayed', { status: 'deferred,delivery_delayed' }], ['held', { status: 'held' }], ['bounced', { status: 'bounced' }], ['failed', { status: 'failed' }], ['complained', { status: 'complained' }], ['scheduled', { status: 'scheduled' }]];

/** Another one on a server that captures. */
const captured = ['captured', { status: 'captured' }];

const place = () => `mailer.views.${team.value ?? ''}`;

/** The views that are kept: [name, filters]. @returns {[string, Record<string, string>][]} */
export function kept() {
	try {
		const views = JSON.parse(localStorage.getItem(place()) ?? '[]');
		return Array.isArray(views) ? views.filter((v) => Array.isArray(v) && typeof v[0] === 'string' && v[1] && typeof v[1] === 'object') : [];
	} catch {
		return [];
	}
}

/** Keeps views; reports whether the browser lets it. */
function keep(views) {
	try {
		localStorage.setItem(place(), JSON.stringify(views));
		return true;
	} catch {
		return false;
	}
}

/** The address without one of the filters. @param {Record<string, string>} filters @param {string} key */
export function drop(filters, key) {
	const { [key]: gone, ...rest } = filters;
	return addressOf(rest);
}

const same = (a, b) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

const ask = () => dialog((close) => html`<${Name} close=${close} />`);

function Name({ close }) {
	const [name, setName] = useState('');
	return html`<${DialogBody} title=${t('emails.views.save')} onSubmit=${() => name.trim() && close(name.trim())} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!name.trim()}>${t('ui.save')}<//>`}>
		<${Input} label=${t('emails.views.name')} hint=${t('emails.views.where')} value=${name} onInput=${setName} maxlength="40" autofocus /><//>`;
}

/** The row of views. @param {{filters: Record<string, string>, wrong: boolean}} props */
export function Views({ filters, wrong }) {
	const [, draw] = useState(0);
	const own = kept();
	const capturing = me.value.capturing;
	const common = capturing ? [...everybodys, captured] : everybodys;
	const mine = own.find(([, f]) => same(f, filters));
	const known = mine || common.some(([, f]) => same(f, filters));
	const set = (views) => {
		if (!keep(views)) toast(t('emails.views.refused'), { kind: 'bad' });
		draw((n) => n + 1);
	};
	const save = async () => {
		const name = await ask();
		if (name) set([...own.filter(([n]) => n !== name), [name, filters]]);
	};
	const remove = () => {
		set(own.filter((v) => v !== mine));
		toast(t('emails.views.removed', { name: mine?.[0] ?? '' }), { undo: () => set(own) });
	};
	const link = (name, f) => html`<a class="view" href=${base + addressOf(f)} aria-current=${same(f, filters) ? 'true' : undefined} onClick=${(e) => {
		if (e.metaKey || e.ctrlKey || e.shiftKey) return;
		e.preventDefault();
		go(addressOf(f));
	}}><bdi>${name}</bdi></a>`;
	return html`<nav class="views" aria-label=${t('emails.views.title')}>${common.map(([name, f]) => link(t(`emails.views.${name}`), f))}${own.map(([name, f]) => link(name, f))}
		${mine ? html`<button type="button" class="view" onClick=${remove}><${Icon} name="x" />${t('emails.views.remove')}</button>` : !known && !wrong && Object.keys(filters).length > 0 && html`<button type="button" class="view" onClick=${save}><${Icon} name="bookmark" />${t('emails.views.save')}</button>`}</nav>`;
}
