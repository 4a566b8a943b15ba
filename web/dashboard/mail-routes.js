// Routes of received emails: what happens to which, in the order that they are tried in.
import { html } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { t } from './i18n.js';
import { EmailSections } from './email-sections.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Check, Empty, Head, Input, Select, Status } from './ui/base.js';
import { form } from './ui/audience.js';
import { attempt, Menu, toast } from './ui/float.js';
import { Table } from './ui/list.js';

/** The most routes of a team. */
const most = 100;

/** How the status of an address looks. */
const looks = { waiting: 'warn', agreed: 'good', stopped: 'bad', paused: 'warn' };

/** The fields of the form, of a route or of a new one. @param {any} [route] */
const fieldsOf = (route) => {
	const actions = route?.actions ?? [{ type: 'webhook' }];
	return {
		match: route?.match ?? '',
		drop: actions.some((a) => a.type === 'drop'),
		webhook: actions.some((a) => a.type === 'webhook'),
		to: actions.filter((a) => a.type === 'forward').map((a) => a.to).join('\n'),
		template: actions.find((a) => a.type === 'reply_with')?.template_id ?? '',
	};
};

/** The actions that the fields of the form stand for. @param {any} v */
const actionsOf = (v) => (v.drop ? [{ type: 'drop' }] : [
	...(v.webhook ? [{ type: 'webhook' }] : []),
	...v.to.split(/[\s,;]+/).filter(Boolean).map((to) => ({ type: 'forward', to })),
	...(v.template ? [{ type: 'reply_with', template_id: v.template }] : []),
]);

/** The template that answers. @param {{value: string, onChange: (id: string) => void}} props */
function Template({ value, onChange }) {
	const got = useGet('/templates', { limit: 100 });
	const all = (got.data?.data ?? []).filter((one) => one.status === 'published' || one.id === value);
	const options = [['', t('routes.noAnswer')], ...all.map((one) => [one.id, one.name]), ...(value && !all.some((one) => one.id === value) ? [[value, value]] : [])];
	return html`<${Select} label=${t('routes.template')} value=${value} options=${options} onChange=${onChange} hint=${t('routes.templateHint')} />`;
}

/** Opens the form of a route, or of a new one; resolves to the route. @param {any} [route] */
const edit = (route) => form({
	title: t(route ? 'routes.edit' : 'routes.add'), start: fieldsOf(route), act: t(route ? 'ui.save' : 'routes.add'),
	fields: (v, set) => html`<${Input} label=${t('routes.match')} hint=${t('routes.matchHint')} value=${v.match} onInput=${(match) => set({ match })} placeholder="support@example.com" autocomplete="off" spellcheck="false" required autofocus />
		<${Check} label=${t('routes.dropIt')} checked=${v.drop} onChange=${(drop) => set({ drop })} />
		${!v.drop && html`<${Check} label=${t('routes.webhookIt')} checked=${v.webhook} onChange=${(webhook) => set({ webhook })} />
		<${Input} label=${t('routes.forwardTo')} hint=${t('routes.forwardHint')} lines=${2} value=${v.to} onInput=${(to) => set({ to })} autocomplete="off" spellcheck="false" />
		<${Template} value=${v.template} onChange=${(template) => set({ template })} />`}`,
	send: (v) => {
		const body = { match: v.match.trim(), actions: actionsOf(v) };
		return route ? api.patch(encoded`/routes/${route.id}`, body) : api.post('/routes', body);
	},
});

/** What a route does, a line for each action. @param {{of: any}} props */
function Actions({ of: route }) {
	const statusOf = (to) => route.destinations.find((d) => d.address === to)?.status ?? 'waiting';
	return html`<ul class="route-acts">${route.actions.map((a) => html`<li>${a.type === 'forward'
		? html`<span class="break">${t('routes.types.forward')} <bdi>${a.to}</bdi></span> <${Status} of=${looks[statusOf(a.to)]} word=${t(`routes.status.${statusOf(a.to)}`)} />`
		: a.type === 'reply_with' ? html`<a class="link" href=${base + encoded`/templates/${a.template_id}`}>${t('routes.types.reply_with')}</a>` : t(`routes.types.${a.type}`)}</li>`)}</ul>`;
}

/** The page. */
export default function MailRoutes() {
	const list = useList('/routes', {}, { limit: most });
	const { rows } = list;
	const change = async (path, body, said) => attempt(async () => {
		await api.patch(path, body);
		await list.reload();
	}, said);
	const add = async () => {
		if (await edit()) {
			toast(t('routes.added'));
			await list.reload();
		}
	};
	const alter = async (route) => {
		if (await edit(route)) {
			toast(t('routes.saved'));
			await list.reload();
		}
	};
	const move = (route, position) => change(encoded`/routes/${route.id}`, { position });
	const remove = (route) => attempt(async () => {
		await api.del(encoded`/routes/${route.id}`);
		await list.reload();
		toast(t('routes.deleted', { match: route.match }), { undo: () => attempt(async () => {
			await api.post('/routes', { match: route.match, actions: route.actions, position: Math.min(route.position, rows.length) });
			await list.reload();
		}) });
	});
	/** The acts for addresses that get nothing. @param {any} route */
	const again = (route) => {
		const has = (status) => route.destinations.some((d) => d.status === status);
		const act = () => change(encoded`/routes/${route.id}`, { actions: route.actions }, t('routes.asked'));
		return [has('paused') && { icon: 'play', name: t('routes.resume'), run: act }, has('waiting') && { icon: 'send', name: t('routes.askAgain'), run: act }];
	};
	const button = mayAdmin.value && html`<${Button} kind="primary" icon="plus" onClick=${add}>${t('routes.add')}<//>`;
	return html`<${Head} title=${t('routes.title')}>${button}<//>
	<${EmailSections} at="routes" />
	<p class="routes-text t13r ink2">${t('routes.text')}</p>
	<${Table} list=${list} label=${t('routes.title')} top empty=${html`<${Empty} icon="flow" ghost=${[['support@example.com', t('routes.types.webhook')], ['*@example.com', t('routes.types.drop')]]} title=${t('routes.none')} act=${html`${button}<${Button} href="/manual/routes">${t('ui.manual')}<//>`}>${t(mayAdmin.value ? 'routes.noneText' : 'domain.askAdmin')}<//>`} columns=${[
		{ name: t('routes.match'), class: 'cell-name break w-to', cell: (row) => html`<bdi class="medium">${row.match}</bdi>` },
		{ name: t('routes.actions'), cell: (row) => html`<${Actions} of=${row} />` },
		...(mayAdmin.value ? [{ name: t('ui.acts'), hide: true, class: 'num w-routeacts', cell: (row) => html`<span class="row row--end"><${Button} icon="up" kind="quiet" class="hide-s" label=${t('routes.up', { match: row.match })} disabled=${row.position <= 1} onClick=${() => move(row, row.position - 1)} /><${Button} icon="down" kind="quiet" class="hide-s" label=${t('routes.down', { match: row.match })} disabled=${row.position >= rows.length} onClick=${() => move(row, row.position + 1)} /><${Menu} kind="quiet" label=${t('routes.acts', { match: row.match })} items=${[
			{ icon: 'edit', name: t('ui.edit'), run: () => alter(row) },
			row.position > 1 && { icon: 'up', name: t('routes.moveUp'), run: () => move(row, row.position - 1) },
			row.position < rows.length && { icon: 'down', name: t('routes.moveDown'), run: () => move(row, row.position + 1) },
			...again(row),
			null,
			{ icon: 'trash', name: t('routes.delete'), danger: true, run: () => remove(row) },
		]} /></span>` }] : []),
	]} />`;
}
