// The palette: finds pages, actions, recent objects, ids and addresses by a few letters.
import { html, useEffect, useRef, useState } from '../lib/core.js';
import { api, ApiError } from '../api.js';
import { t } from '../i18n.js';
import { encoded } from '../paths.js';
import { kinds, recent } from '../recent.js';
import { go } from '../router.js';
import { mayAdmin, me, team } from '../state.js';
import { Button, Icon } from './base.js';
import { dialog, DialogBody } from './float.js';

let shown = false;

/** Opens the palette. */
export async function openPalette() {
	if (shown) return;
	shown = true;
	const item = await dialog((close) => html`<${Palette} close=${close} />`);
	shown = false;
	if (!item) return;
	if (item.run) await item.run();
	else if (item.href) location.assign(item.href);
	else go(item.to);
}

/** Lists the keys. */
export function openKeys() {
	const keys = ['palette', 'help', 'search', 'next', 'open', 'select', 'escape'];
	return dialog((close) => html`<${DialogBody} title=${t('keysHelp.title')} onSubmit=${() => close()} acts=${html`<${Button} type="submit">${t('ui.close')}<//>`}><dl class="kv kv--rows">${keys.map((k) => html`<dt><span class="kbd">${t(`keysHelp.${k}.key`)}</span></dt><dd>${t(`keysHelp.${k}.does`)}</dd>`)}</dl><//>`);
}

/** Pages: text and icon. */
const pages = { overview: 'overview', emails: 'mail', received: 'mail', routes: 'flow', broadcasts: 'broadcast', automations: 'flow', feeds: 'feed', contacts: 'audience', forms: 'form', segments: 'audience', topics: 'audience', properties: 'audience', imports: 'audience', suppressions: 'shield', templates: 'template', blocks: 'template', images: 'image', domains: 'globe', keys: 'key', smtp: 'key', webhooks: 'webhook', reputation: 'gauge', usage: 'gauge', requests: 'list', queue: 'queue', account: 'user' };
const admins = { team: 'teams', audit: 'history' };
const operators = { relays: 'relay', reports: 'relay', teams: 'teams', people: 'user', health: 'health', backups: 'health', settings: 'settings', disk: 'health' };

const nameOf = (thing) => thing.subject || thing.name || [thing.first_name, thing.last_name].filter(Boolean).join(' ') || thing.email || thing.endpoint || thing.id;

/** Lists whose names are searched, loaded when the palette needs them first. @type {Map<string, any[]>} */
const names = new Map();
/** Pages of the manual: {page, title, headings: {id, title}[]}. @type {any[]|null} */
let manual = null;

/** @param {string} path @param {any} [query] */
async function quiet(path, query) {
	try {
		return await api.get(path, query);
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		return null;
	}
}

async function readNames() {
	const of = team.value ?? '';
	const lists = of && !names.has(of) ? ['domains', 'broadcasts', 'automations', 'templates', 'segments', 'forms', 'webhooks'] : [];
	const found = await Promise.all(lists.map(async (kind) => ((await quiet(`/${kind}`, { limit: 100 }))?.data ?? []).map((thing) => ({ kind, to: encoded`/${kind}/${thing.id}`, name: nameOf(thing) }))));
	if (lists.length) {
		names.set(of, found.flat());
		setTimeout(() => names.delete(of), 60_000);
	}
	if (manual === null) {
		manual = [];
		const answer = await fetch('/manual/index.json').catch(() => null);
		if (answer?.ok) manual = await answer.json().catch(() => []);
	}
}

const isId = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** The path of a kind of things in the API. @param {string} kind */
const apiPath = (kind) => (kind === 'received' ? '/emails/receiving' : `/${kind}`);

/** The server's results for a text: the object of an id, contacts, emails. */
async function look(text) {
	if (!team.value) return [];
	if (isId(text)) {
		const found = await Promise.all(Object.keys(kinds).map(async (kind) => [kind, await quiet(apiPath(kind) + encoded`/${text}`)]));
		return found.filter(([, thing]) => thing).map(([kind, thing]) => ({ group: kind === 'contacts' ? 'people' : kind === 'received' ? 'emails' : kind, icon: kinds[kind], name: nameOf(thing), to: encoded`/${kind}/${text}`, note: t('palette.open') }));
	}
	const address = text.includes('@');
	const [people, emails] = await Promise.all([quiet('/contacts', { search: text, limit: 4 }), quiet('/emails', { ...(address ? { to: text } : { subject: text }), limit: 4 })]);
	return [
		...(people?.data ?? []).map((c) => ({ group: 'people', icon: 'user', name: nameOf(c), sub: nameOf(c) === c.email ? '' : c.email, to: encoded`/contacts/${c.id}`, note: t('palette.open') })),
		...(emails?.data ?? []).map((e) => ({ group: 'emails', icon: 'mail', name: e.subject || t('emails.noSubject'), sub: e.to[0], to: encoded`/emails/${e.id}`, note: t(`status.${e.state}`) })),
	];
}

/** The actions. */
function acts(text) {
	const send = { group: 'acts', icon: 'send', name: t('palette.send'), run: async () => (await import('../send.js')).sendDialog() };
	const relay = { group: 'acts', icon: 'plus', name: t('palette.addRelay'), run: async () => {
		const region = await (await import('../relays-add.js')).addDialog();
		if (region) go(encoded`/operator/relays?relay=${region}`);
	} };
	const keys = { group: 'acts', icon: 'list', name: t('shell.keysHelp'), note: '?', run: openKeys };
	const all = [...(team.value ? [send] : []), ...(me.value?.operator ? [relay] : []), keys];
	return text ? all.filter((a) => a.name.toLowerCase().includes(text)) : all;
}

function pagesFor(text) {
	const all = [
		...Object.entries(pages).map(([p, icon]) => ({ icon, name: t(`palette.${p}`), to: p === 'overview' ? '/' : `/${p}` })),
		...(mayAdmin.value ? Object.entries(admins).map(([p, icon]) => ({ icon, name: t(`palette.${p}`), to: `/${p}` })) : []),
		...(me.value?.operator ? Object.entries(operators).map(([p, icon]) => ({ icon, name: t(`palette.${p}`), to: `/operator/${p}` })) : []),
	].map((p) => ({ ...p, group: 'pages' }));
	const some = all.filter((p) => p.name.toLowerCase().includes(text));
	return some.sort((a, b) => Number(b.name.toLowerCase().startsWith(text)) - Number(a.name.toLowerCase().startsWith(text)));
}

/** All results for a text, in groups. */
function itemsFor(typed, found) {
	const text = typed.trim().toLowerCase();
	if (!text) return [...recent().map((r) => ({ ...r, group: 'recent', icon: kinds[r.kind] })), ...acts(''), ...pagesFor('')];
	const named = (names.get(team.value ?? '') ?? []).filter((n) => n.name.toLowerCase().includes(text)).slice(0, 6).map((n) => ({ ...n, group: 'named', icon: kinds[n.kind], note: t(`palette.${n.kind}`) }));
	const search = isId(text) || !team.value ? [] : [{ group: 'emails', icon: 'search', name: t(text.includes('@') ? 'palette.emailsTo' : 'palette.emailsAbout', { text: typed.trim() }), to: `/emails?${new URLSearchParams(text.includes('@') ? { to: typed.trim() } : { subject: typed.trim() })}`, note: `${text.includes('@') ? 'to' : 'subject'}:` }, ...(text.includes('@') || text.includes(' ') ? [] : [{ group: 'emails', icon: 'search', name: t('palette.emailsTo', { text: typed.trim() }), to: `/emails?${new URLSearchParams({ to: typed.trim() })}`, note: 'to:' }])];
	const chapters = (manual ?? []).flatMap((page) => [{ title: page.title, href: `/manual/${page.page}` }, ...page.headings.map((h) => ({ title: h.title, href: `/manual/${page.page}#${h.id}`, page: page.title }))])
		.filter((c) => c.title.toLowerCase().includes(text)).slice(0, 5).map((c) => ({ group: 'manual', icon: 'info', name: c.title, href: c.href, note: c.page ?? t('ui.manual') }));
	return [...found.filter((f) => f.group !== 'emails'), ...pagesFor(text).slice(0, 8), ...named, ...search, ...found.filter((f) => f.group === 'emails'), ...acts(text), ...chapters];
}

/** A text with the typed letters marked. */
function Marked({ text, typed }) {
	const at = typed ? text.toLowerCase().indexOf(typed.toLowerCase()) : -1;
	if (at < 0) return html`<bdi>${text}</bdi>`;
	return html`<bdi>${text.slice(0, at)}<mark>${text.slice(at, at + typed.length)}</mark>${text.slice(at + typed.length)}</bdi>`;
}

function Palette({ close }) {
	const [typed, type] = useState('');
	const [at, setAt] = useState(0);
	const [found, setFound] = useState(/** @type {{of: string, items: any[]}} */ ({ of: '', items: [] }));
	const [, draw] = useState(0);
	const list = useRef(/** @type {any} */ (null));
	const text = typed.trim();
	useEffect(() => {
		readNames().then(() => draw((n) => n + 1));
	}, []);
	useEffect(() => {
		if (text.length < 2) return;
		let current = true;
		const timer = setTimeout(() => look(text).then((items) => current && setFound({ of: text, items })), 150);
		return () => {
			current = false;
			clearTimeout(timer);
		};
	}, [text]);
	const items = itemsFor(typed, found.of === text ? found.items : []);
	useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [at, items.length]);
	const onKey = (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (step) {
			e.preventDefault();
			setAt((at + step + items.length) % Math.max(1, items.length));
		} else if (e.key === 'Enter') {
			e.preventDefault();
			if (items[at]) close(items[at]);
		}
	};
	return html`<div class="palette"><div class="palette-input"><${Icon} name="search" /><input role="combobox" id="dialog-title" aria-expanded="true" aria-autocomplete="list" aria-controls="palette-list" aria-activedescendant=${items.length ? `palette-${at}` : undefined} aria-label=${t('shell.find')} placeholder=${t('palette.hint')} autocomplete="off" spellcheck=${false} autofocus value=${typed} onInput=${(e) => {
		type(e.currentTarget.value);
		setAt(0);
	}} onKeyDown=${onKey} /><span class="kbd">esc</span></div><div class="menu-list palette-list" ref=${list} id="palette-list" role="listbox" aria-label=${t('shell.find')}>${items.map((item, i) => html`${item.group !== items[i - 1]?.group && html`<div class="menu-name" role="presentation">${t(`palette.groups.${item.group}`)}</div>`}<div class="menu-item" role="option" id=${`palette-${i}`} aria-selected=${String(i === at)} onClick=${() => close(item)} onMouseMove=${() => i !== at && setAt(i)}><${Icon} name=${item.icon} /><span class="cut"><${Marked} text=${item.name} typed=${text} />${item.sub && html` <span class="muted">${item.sub}</span>`}</span><span class="menu-note">${i === at ? '↵' : item.note ?? ''}</span></div>`)}${!items.length && html`<p class="palette-none muted">${t('palette.none')}</p>`}</div></div>`;
}
