// The frame around all pages: sign-in state, routing and the sidebar.
import { html, render, useEffect, useState } from './lib/core.js';
import { api, ApiError, forget, proof, silent } from './api.js';
import { counts, watch } from './counts.js';
import { preferred, speak, t, language } from './i18n.js';
import { forgetDrafts } from './drafts.js';
import { follow } from './live.js';
import { noteVisits } from './recent.js';
import { base, go, match, place, start } from './router.js';
import { navigation, publicRoutes, redirects, routes } from './routes.js';
import { choose, me, membership, mayAdmin, signedIn, team } from './state.js';
import { Button, Empty, Failed, Head, Icon, useEscape } from './ui/base.js';
import { attempt, Dialogs, Menu, Toasts } from './ui/float.js';

proof.ask = async () => (await import('./ui/confirm.js')).prove();
const openPalette = async () => (await import('./ui/palette.js')).openPalette();
const openKeys = async () => (await import('./ui/palette.js')).openKeys();

/** Whether the person may open a page. @param {string} to */
const allowed = (to) => (to === '/team' ? mayAdmin.value || me.value?.operator : !to.startsWith('/operator/') || me.value?.operator);

/** The title of a page. @param {string} to */
const titleOf = (to) => t(`${to.split('/').pop() || 'overview'}.title`);

function Side() {
	const [more, setMore] = useState(false);
	const at = place.value.path;
	useEffect(() => setMore(false), [at]);
	useEffect(watch, [team.value]);
	const count = { '/operator/relays': counts.value.failing > 0 && ['failing', true], '/broadcasts': counts.value.leaving > 0 && ['leaving', false] };
	const own = membership.value;
	useEscape(() => setMore(false), more);
	const within = (to, also = []) => to === at || (to !== '/' && at.startsWith(to + '/')) || also.some((b) => at === b || at.startsWith(b + '/'));
	return html`<aside class=${`side ${more ? 'is-open' : ''}`}>
		<${Menu} label=${t('shell.teams')} class="side-team" items=${[
			...me.value.teams.map((one) => ({ name: one.name, note: t(`roles.${one.role}`), checked: one.id === team.value, run: () => {
				forget();
				choose(one.id);
				go('/');
			} })),
		]}><span class="mark" aria-hidden="true">${(own?.name ?? 'M').slice(0, 1).toUpperCase()}</span><span class="cut">${own?.name ?? t('shell.noTeam')}</span><${Icon} name="updown" /><//>
		<button type="button" class="side-find" onClick=${() => openPalette()}><${Icon} name="search" /><span class="cut">${t('shell.find')}</span><span class="kbd">${/Mac/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</span></button>
		<nav aria-label=${t('shell.main')}>${navigation.map(([group, links]) => {
			const mine = links.filter(([to]) => allowed(to));
			if (!mine.length) return null;
			return html`<div class="nav-group"><p class="nav-name">${t(`shell.${group}`)}</p>${mine.map(([to, icon, bar, also]) => html`<a class=${`nav-item ${bar ? 'in-bar' : ''}`} href=${base + to} title=${titleOf(to)} aria-current=${within(to, also) ? 'page' : undefined}><${Icon} name=${icon} /><span class="cut">${titleOf(to)}</span>${count[to] && html`<span class=${`nav-count hide-s ${count[to][1] ? 'is-bad' : ''}`}>${t(`shell.${count[to][0]}`, { n: counts.value[count[to][0]] })}</span>`}</a>`)}</div>`;
		})}<button type="button" class="nav-item in-bar nav-more" aria-current=${navigation.some(([, links]) => links.some(([to, , bar, also]) => bar && within(to, also))) ? undefined : 'true'} aria-expanded=${String(more)} onClick=${() => setMore(!more)}><${Icon} name="menu" /><span class="cut">${t('shell.more')}</span></button></nav>
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

/** The banner while the server does not answer. */
function Banner() {
	const [, tick] = useState(0);
	useEffect(() => {
		if (!silent.value) return;
		const timer = setInterval(() => tick((n) => n + 1), 500);
		return () => clearInterval(timer);
	}, [silent.value]);
	// Short outages are not shown.
	if (!silent.value || Date.now() - silent.value < 1500) return null;
	return html`<div class="banner" role="status"><span class="spin"></span>${t('shell.silent')}</div>`;
}

/** Loaded pages, by pattern. @type {Map<string, any>} */
const loaded = new Map();

/** Loads a page's modules, once. @param {{name: string, load: () => Promise<any>}} page */
async function loadPage({ name, load }) {
	const module = await load();
	loaded.set(name, module.default);
}

/** A page, loaded on its first visit. @param {{load: () => Promise<any>, params: any, name: string, open?: boolean}} props open: it needs no sign-in and belongs to no team */
function Page({ load, params, name, open = false }) {
	const [failed, setFailed] = useState(/** @type {any} */ (null));
	const [, draw] = useState(0);
	const View = loaded.get(name);
	useEffect(() => {
		if (View) return;
		let current = true;
		loadPage({ name, load }).then(() => current && draw((n) => n + 1), (error) => current && setFailed({ name, error }));
		return () => {
			current = false;
		};
	}, [name]);
	if (View) return html`<${View} key=${`${open ? '' : team.value} ${JSON.stringify(params)}`} params=${params} />`;
	if (failed?.name !== name) return null;
	return html`<${Failed} title=${t('shell.stale')} error=${new ApiError(0, { message: t('shell.staleText') }, '')} retry=${() => location.reload()} />`;
}

/** The route of a path: {name, load, params}, or null. @param {[string, () => Promise<any>][]} pages @param {string} path */
function findRoute(pages, path) {
	for (const [pattern, load] of pages) {
		const params = match(pattern, path);
		if (params) return { name: pattern, load, params };
	}
	return null;
}

/** Loads the page of a link before it is clicked. @param {Event} e */
function preload(e) {
	const a = /** @type {Element} */ (e.target).closest?.('a[href]');
	if (!me.value || !(a instanceof HTMLAnchorElement) || a.origin !== location.origin) return;
	const page = findRoute(routes, a.pathname.slice(base.length) || '/');
	if (page && !loaded.has(page.name)) loadPage(page).catch(() => {}); // the visit reports the error
}

/** Loads the other pages while the browser is idle, so that they also open while the server restarts. */
async function preloadRest() {
	const dialogs = [() => import('./ui/palette.js'), () => import('./ui/confirm.js')];
	const pages = routes.filter(([name]) => !loaded.has(name) && allowed(name)).map(([name, load]) => () => loadPage({ name, load }));
	const idle = () => new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done) : setTimeout(done, 200)));
	for (const load of [...pages, ...dialogs]) {
		await idle();
		try {
			await load();
		} catch {
			return; // the server does not answer: pages are loaded on their visit
		}
	}
}

/** Whether the team requires a second factor that the person does not have. @param {string} path */
const needsFactor = (path) => membership.value?.second_factor_required && !me.value.second_factor.length && path !== '/account' && !path.startsWith('/operator/');

function App() {
	language.value; // draws again when the language changes
	const { path } = place.value;
	const open = findRoute(publicRoutes, path);
	if (open) return html`<${Page} ...${open} open /><${Dialogs} /><${Toasts} />`;
	if (me.value === undefined) return null;
	if (me.value === null) {
		queueMicrotask(() => go(`/sign-in?to=${encodeURIComponent(path + location.search)}`, { replace: true }));
		return null;
	}
	if (Object.hasOwn(redirects, path)) {
		queueMicrotask(() => go(redirects[path], { replace: true }));
		return null;
	}
	const page = needsFactor(path) ? null : findRoute(routes, path);
	const forbidden = page && !allowed(page.name);
	return html`<a class="btn skip" href="#main" onClick=${(e) => {
		e.preventDefault();
		document.getElementById('main')?.focus();
	}}>${t('shell.skip')}</a><div class="app"><${Side} /><main class="main" id="main" tabindex="-1"><${Banner} />${needsFactor(path) ? html`<${Empty} icon="shield" title=${t('shell.factor', { team: membership.value.name })} act=${html`<${Button} kind="primary" href=${base + '/account?part=sign-in'}>${t('shell.factorAct')}<//>`}>${t('shell.factorText')}<//>` : forbidden ? html`<${Head} title=${t('shell.shut')} /><${Empty} icon="lock" title=${t('shell.shutOf')} act=${html`<${Button} href=${base + '/'}>${t('overview.title')}<//>`}>${t('shell.shutText')}<//>` : page ? html`<${Page} ...${page} />` : html`<${Head} title=${t('shell.nowhere')} /><${Empty} icon="search" title=${path} act=${html`<${Button} href=${base + '/'}>${t('overview.title')}<//>`}>${t('shell.nowhereText')}<//>`}</main></div><${Dialogs} /><${Toasts} />`;
}

addEventListener('keydown', (e) => {
	if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === 'k' && me.value) {
		e.preventDefault();
		openPalette();
	} else if (e.key === '?' && me.value && !(/** @type {Element} */ (e.target).closest('input, textarea, select, [contenteditable], .cm-editor'))) openKeys();
});

addEventListener('pointerover', preload);
addEventListener('focusin', preload);

/** Loads the signed-in person. */
async function loadMe() {
	try {
		const answer = await /** @type {any} */ (globalThis).early.me;
		signedIn(answer?.ok ? await answer.json() : await api.get('/users/me', undefined, { team: null }));
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		me.value = null;
	}
}

/** Draws the first page once its modules, its texts and the signed-in person are loaded. No module awaits this one: the bundles of pages import it. */
async function boot() {
	start();
	follow();
	noteVisits();
	const open = findRoute(publicRoutes, place.value.path);
	const page = open ?? findRoute(routes, place.value.path);
	// Loading errors are shown by the page.
	await Promise.all([speak(preferred()), open ? (me.value = null) : loadMe(), page && loadPage(page).catch(() => {})]);
	if (me.value?.language && me.value.language !== language.value) await speak(me.value.language).catch(() => {});
	render(html`<${App} />`, /** @type {any} */ (document.getElementById('root')));
	setTimeout(() => me.value && preloadRest(), 1000);
}

boot();
