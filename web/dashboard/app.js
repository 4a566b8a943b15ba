// The shell: who is signed in, where the reader is, and what all pages have around them.
import { html, render, useEffect, useState } from './lib/core.js';
import { api, ApiError, forget, proof, silent } from './api.js';
import { counts, watch } from './counts.js';
import { preferred, speak, t, language } from './i18n.js';
import { forgetDrafts } from './drafts.js';
import { follow } from './live.js';
import { noteVisits } from './recent.js';
import { base, go, match, place, start } from './router.js';
import { choose, me, membership, mayAdmin, signedIn, team } from './state.js';
import { Button, Empty, Failed, Head, Icon, useEscape } from './ui/base.js';
import { attempt, Dialogs, Menu, Toasts } from './ui/float.js';

proof.ask = async () => (await import('./ui/confirm.js')).prove();
const openPalette = async () => (await import('./ui/palette.js')).openPalette();
const openKeys = async () => (await import('./ui/palette.js')).openKeys();

/** Pages that need nobody signed in. @type {[string, () => Promise<any>][]} */
const outside = [
	['/sign-in', () => import('./sign-in.js')],
	['/setup', () => import('./setup.js')],
	['/link', () => import('./link.js')],
	['/invitation', () => import('./invitation.js')],
];

/** Pages, by pattern; the first that fits. @type {[string, () => Promise<any>][]} */
const inside = [
	['/', () => import('./overview.js')],
	['/emails', () => import('./emails.js')],
	['/emails/:id', () => import('./email.js')],
	['/broadcasts', () => import('./broadcasts.js')],
	['/broadcasts/:id', () => import('./composer.js')],
	['/broadcasts/:id/review', () => import('./review.js')],
	['/broadcasts/:id/report', () => import('./report.js')],
	['/contacts', () => import('./contacts.js')],
	['/contacts/:id', () => import('./contact.js')],
	['/segments', () => import('./segments.js')],
	['/segments/:id', () => import('./segment.js')],
	['/topics', () => import('./topics.js')],
	['/properties', () => import('./properties.js')],
	['/imports', () => import('./imports.js')],
	['/imports/:id', () => import('./import.js')],
	['/suppressions', () => import('./suppressions.js')],
	['/templates', () => import('./templates.js')],
	['/templates/:id', () => import('./template.js')],
	['/domains', () => import('./domains.js')],
	['/domains/:id', () => import('./domain.js')],
	['/keys', () => import('./keys.js')],
	['/smtp', () => import('./smtp.js')],
	['/webhooks', () => import('./webhooks.js')],
	['/webhooks/:id', () => import('./webhook.js')],
	['/requests', () => import('./requests.js')],
	['/requests/:id', () => import('./request.js')],
	['/reputation', () => import('./reputation.js')],
	['/usage', () => import('./usage.js')],
	['/queue', () => import('./queue.js')],
	['/team', () => import('./team.js')],
	['/audit', () => import('./audit.js')],
	['/account', () => import('./account.js')],
	['/operator/relays', () => import('./relays.js')],
	['/operator/reports', () => import('./reports.js')],
	['/operator/teams', () => import('./teams.js')],
	['/operator/people', () => import('./people.js')],
	['/operator/health', () => import('./health.js')],
	['/operator/backups', () => import('./backups.js')],
	['/operator/settings', () => import('./settings.js')],
	['/operator/disk', () => import('./disk.js')],
];

/** Addresses that readers guess, and the pages that they mean. @type {Record<string, string>} */
const guessed = { '/audience': '/contacts', '/people': '/team', '/settings': '/team?part=settings' };

/** The links of the sidebar by group: address, icon, also in the phone's bar, addresses that light it too; each is called as its page is. */
const doors = /** @type {[string, any[][]][]} */ ([
	['mail', [
		['/', 'overview', true],
		['/emails', 'mail', true],
		['/broadcasts', 'broadcast', true],
		['/templates', 'template', false],
		['/queue', 'queue', true],
		['/reputation', 'gauge', false, ['/usage']],
	]],
	['audience', [['/contacts', 'audience', false, ['/segments', '/topics', '/properties', '/imports', '/suppressions']]]],
	['developers', [
		['/domains', 'globe', false],
		['/keys', 'key', false, ['/smtp']],
		['/webhooks', 'webhook', false],
		['/requests', 'list', false],
	]],
	['server', [
		['/operator/relays', 'relay', false, ['/operator/reports']],
		['/operator/teams', 'teams', false, ['/operator/people']],
		['/operator/health', 'health', false, ['/operator/backups', '/operator/settings', '/operator/disk']],
	]],
	['settings', [['/team', 'settings', false, ['/audit']]]],
]);

/** Whether the person is let through a door. @param {string} to */
const open = (to) => (to === '/team' ? mayAdmin.value || me.value?.operator : !to.startsWith('/operator/') || me.value?.operator);

/** What a door is called. @param {string} to */
const called = (to) => t(`${to.split('/').pop() || 'overview'}.title`);

function Side() {
	const [more, setMore] = useState(false);
	const at = place.value.path;
	useEffect(() => setMore(false), [at]);
	useEffect(watch, [team.value]);
	const count = { '/operator/relays': counts.value.failing > 0 && ['failing', true], '/broadcasts': counts.value.leaving > 0 && ['leaving', false] };
	const own = membership.value;
	useEscape(() => setMore(false), more);
	const within = (to, beside = []) => to === at || (to !== '/' && at.startsWith(to + '/')) || beside.some((b) => at === b || at.startsWith(b + '/'));
	return html`<aside class=${`side ${more ? 'is-open' : ''}`}>
		<${Menu} label=${t('shell.teams')} class="side-team" items=${[
			...me.value.teams.map((one) => ({ name: one.name, note: t(`roles.${one.role}`), checked: one.id === team.value, run: () => {
				forget();
				choose(one.id);
				go('/');
			} })),
		]}><span class="mark" aria-hidden="true">${(own?.name ?? 'M').slice(0, 1).toUpperCase()}</span><span class="cut">${own?.name ?? t('shell.noTeam')}</span><${Icon} name="updown" /><//>
		<button type="button" class="side-find" onClick=${() => openPalette()}><${Icon} name="search" /><span class="cut">${t('shell.find')}</span><span class="kbd">${/Mac/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</span></button>
		<nav aria-label=${t('shell.main')}>${doors.map(([group, links]) => {
			const mine = links.filter(([to]) => open(to));
			if (!mine.length) return null;
			return html`<div class="nav-group"><p class="nav-name">${t(`shell.${group}`)}</p>${mine.map(([to, icon, bar, beside]) => html`<a class=${`nav-item ${bar ? 'in-bar' : ''}`} href=${base + to} title=${called(to)} aria-current=${within(to, beside) ? 'page' : undefined}><${Icon} name=${icon} /><span class="cut">${called(to)}</span>${count[to] && html`<span class=${`nav-count hide-s ${count[to][1] ? 'is-bad' : ''}`}>${t(`shell.${count[to][0]}`, { n: counts.value[count[to][0]] })}</span>`}</a>`)}</div>`;
		})}<button type="button" class="nav-item in-bar nav-more" aria-current=${doors.some(([, links]) => links.some(([to, , bar, beside]) => bar && within(to, beside))) ? undefined : 'true'} aria-expanded=${String(more)} onClick=${() => setMore(!more)}><${Icon} name="menu" /><span class="cut">${t('shell.more')}</span></button></nav>
		<${Menu} label=${t('shell.account')} class="side-user" items=${[
			{ icon: 'user', name: t('shell.account'), href: base + '/account' },
			{ icon: 'info', name: t('shell.manual'), href: '/manual' },
			{ icon: 'list', name: t('shell.keysHelp'), note: '?', run: openKeys },
			null,
			{ icon: 'lock', name: t('shell.signOut'), run: () => attempt(async () => {
				await api.post('/auth/sign-out', undefined, { team: null });
				forget();
				forgetDrafts();
				me.value = null;
			}) },
		]}><${Icon} name="user" /><span class="cut">${me.value.name || me.value.email}</span><//>
	</aside>`;
}

/** What is said while the server does not answer. */
function Banner() {
	const [, tick] = useState(0);
	useEffect(() => {
		if (!silent.value) return;
		const timer = setInterval(() => tick((n) => n + 1), 500);
		return () => clearInterval(timer);
	}, [silent.value]);
	// A moment is not worth a line.
	if (!silent.value || Date.now() - silent.value < 1500) return null;
	return html`<div class="banner" role="status"><span class="spin"></span>${t('shell.silent')}</div>`;
}

/** Pages that are there, by pattern. @type {Map<string, any>} */
const loaded = new Map();

/** Loads a page's modules, once. @param {{name: string, load: () => Promise<any>}} page */
async function fetched({ name, load }) {
	const module = await load();
	loaded.set(name, module.default);
}

/** A page, loaded when it is first gone to. @param {{load: () => Promise<any>, params: any, name: string, free?: boolean}} props free: it is of no team, and stays when one is there */
function Page({ load, params, name, free = false }) {
	const [failed, setFailed] = useState(/** @type {any} */ (null));
	const [, draw] = useState(0);
	const View = loaded.get(name);
	useEffect(() => {
		if (View) return;
		let current = true;
		fetched({ name, load }).then(() => current && draw((n) => n + 1), (error) => current && setFailed({ name, error }));
		return () => {
			current = false;
		};
	}, [name]);
	if (View) return html`<${View} key=${`${free ? '' : team.value} ${JSON.stringify(params)}`} params=${params} />`;
	if (failed?.name !== name) return null;
	return html`<${Failed} title=${t('shell.stale')} error=${new ApiError(0, { message: t('shell.staleText') }, '')} retry=${() => location.reload()} />`;
}

/** The page of a path: {name, load, params}, or null. @param {[string, () => Promise<any>][]} pages @param {string} path */
function found(pages, path) {
	for (const [pattern, load] of pages) {
		const params = match(pattern, path);
		if (params) return { name: pattern, load, params };
	}
	return null;
}

/** Loads what a link leads to before it is clicked. @param {Event} e */
function ahead(e) {
	const a = /** @type {Element} */ (e.target).closest?.('a[href]');
	if (!me.value || !(a instanceof HTMLAnchorElement) || a.origin !== location.origin) return;
	const page = found(inside, a.pathname.slice(base.length) || '/');
	if (page && !loaded.has(page.name)) fetched(page).catch(() => {}); // going there says it
}

/** Loads the other pages while nothing else is to do, so that one is there when it is gone to, also while the server restarts. */
async function rest() {
	const dialogs = [() => import('./ui/palette.js'), () => import('./ui/confirm.js')];
	const pages = inside.filter(([name]) => !loaded.has(name) && open(name)).map(([name, load]) => () => fetched({ name, load }));
	const idle = () => new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done) : setTimeout(done, 200)));
	for (const load of [...pages, ...dialogs]) {
		await idle();
		try {
			await load();
		} catch {
			return; // the server is away: each is loaded when it is needed
		}
	}
}

/** Whether the team lets the person in only with a second factor, which he has not. @param {string} path */
const barred = (path) => membership.value?.second_factor_required && !me.value.second_factor.length && path !== '/account' && !path.startsWith('/operator/');

function App() {
	language.value; // is drawn anew in another language
	const { path } = place.value;
	const free = found(outside, path);
	if (free) return html`<${Page} ...${free} free /><${Dialogs} /><${Toasts} />`;
	if (me.value === undefined) return null;
	if (me.value === null) {
		queueMicrotask(() => go(`/sign-in?to=${encodeURIComponent(path + location.search)}`, { replace: true }));
		return null;
	}
	if (Object.hasOwn(guessed, path)) {
		queueMicrotask(() => go(guessed[path], { replace: true }));
		return null;
	}
	const page = barred(path) ? null : found(inside, path);
	const shut = page && !open(page.name);
	return html`<a class="btn skip" href="#main" onClick=${(e) => {
		e.preventDefault();
		document.getElementById('main')?.focus();
	}}>${t('shell.skip')}</a><div class="app"><${Side} /><main class="main" id="main" tabindex="-1"><${Banner} />${barred(path) ? html`<${Empty} icon="shield" title=${t('shell.factor', { team: membership.value.name })} act=${html`<${Button} kind="primary" href=${base + '/account?part=sign-in'}>${t('shell.factorAct')}<//>`}>${t('shell.factorText')}<//>` : shut ? html`<${Head} title=${t('shell.shut')} /><${Empty} icon="lock" title=${t('shell.shutOf')} act=${html`<${Button} href=${base + '/'}>${t('overview.title')}<//>`}>${t('shell.shutText')}<//>` : page ? html`<${Page} ...${page} />` : html`<${Head} title=${t('shell.nowhere')} /><${Empty} icon="search" title=${path} act=${html`<${Button} href=${base + '/'}>${t('overview.title')}<//>`}>${t('shell.nowhereText')}<//>`}</main></div><${Dialogs} /><${Toasts} />`;
}

addEventListener('keydown', (e) => {
	if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === 'k' && me.value) {
		e.preventDefault();
		openPalette();
	} else if (e.key === '?' && me.value && !(/** @type {Element} */ (e.target).closest('input, textarea, select, [contenteditable], .cm-editor'))) openKeys();
});

addEventListener('pointerover', ahead);
addEventListener('focusin', ahead);

/** Asks who is signed in. */
async function who() {
	try {
		const answer = await /** @type {any} */ (globalThis).early.me;
		signedIn(answer?.ok ? await answer.json() : await api.get('/users/me', undefined, { team: null }));
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		me.value = null;
	}
}

/** Draws the first page when its modules, its words and who is signed in are known. No module waits for this one: the bundles of pages import it. */
async function begin() {
	start();
	follow();
	noteVisits();
	const free = found(outside, place.value.path);
	const page = free ?? found(inside, place.value.path);
	// What fails to load is said where it is shown.
	await Promise.all([speak(preferred()), free ? (me.value = null) : who(), page && fetched(page).catch(() => {})]);
	if (me.value?.language && me.value.language !== language.value) await speak(me.value.language).catch(() => {});
	render(html`<${App} />`, /** @type {any} */ (document.getElementById('root')));
	setTimeout(() => me.value && rest(), 1000);
}

begin();
