// All accounts of this server, for operators.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { arrive } from './gate.js';
import { encoded } from './paths.js';
import { me } from './state.js';
import { keysLeft } from './team.js';
import { TeamsSections } from './teams.js';
import { Button, CopyButton, Empty, Head, Status, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The page. */
export default function People() {
	const list = useList('/users', {}, { team: null });
	const columns = [
		{ name: t('people.person'), class: 'cell-name cell-cut', cell: (u) => html`<bdi class="medium">${u.name || u.email}</bdi>${u.operator && html` <span class="badge">${t('people.operator')}</span>`}<span class="cell-sub">${u.name && html`<bdi>${u.email}</bdi> · `}${teams(u)}</span>` },
		{ name: t('signIn.email'), class: 'cell-cut hide-s', cell: (u) => html`<bdi class="muted">${u.email}</bdi>` },
		{ name: t('people.teams'), class: 'cell-cut drop-1', cell: teams },
		{ name: t('people.factor'), class: 'w-status', cell: (u) => html`<${Status} of=${u.second_factor ? 'ok' : 'neutral'} word=${t(u.second_factor ? 'people.on' : 'people.off')} />` },
		{ name: t('people.seen'), class: 'w-age num hide-s', cell: (u) => (u.last_seen_at ? html`<${Time} at=${u.last_seen_at} />` : html`<span class="muted">${t('people.never')}</span>`) },
		{ name: t('ui.acts'), hide: true, class: 'w-acts num', cell: (u) => html`<${Menu} kind="quiet" label=${`${t('ui.acts')}: ${u.name || u.email}`} items=${acts(u, list)} />` },
	];
	return html`<${Head} title=${t('people.title')}><${Csv} path="/users" name="people" team=${null} /><//><${TeamsSections} at="/operator/people" />
	<${Table} list=${list} columns=${columns} label=${t('people.label')} empty=${html`<${Empty} icon="user" title=${t('people.emptyTitle')}>${t('people.emptyText')}<//>`} />`;
}

const teams = (u) => (u.teams.length ? html`<bdi>${u.teams.map((one) => `${one.name} (${t(`roles.${one.role}`)})`).join(', ')}</bdi>` : html`<span class="muted">${t('people.none')}</span>`);

/** The actions on an account. @param {any} u @param {any} list */
function acts(u, list) {
	const mine = u.id === me.value.id;
	return [
		{ icon: 'link', name: t('people.link'), run: () => link(u) },
		{ icon: 'shield', name: t(u.operator ? 'people.noOperator' : 'people.makeOperator'), run: () => setOperator(u, !u.operator, list) },
		null,
		{ icon: 'trash', name: t('people.remove'), danger: true, disabled: mine, note: mine ? t('people.you') : undefined, run: () => remove(u, list) },
	];
}

async function link(u) {
	const made = await attempt(() => api.post(encoded`/users/${u.id}/link`, undefined, { team: null }));
	if (!made) return;
	await dialog((close) => html`<${DialogBody} title=${t('people.linkTitle', { email: u.email })} onSubmit=${() => close()} acts=${html`<${Button} type="submit" kind="primary">${t('team.done')}<//>`}><div class="secret"><code>${made.url}</code><${CopyButton} text=${made.url} /></div><p>${t('people.linkText')}</p><//>`);
}

async function setOperator(u, on, list) {
	const words = { name: u.name || u.email };
	if (u.id === me.value.id && !(await confirm({ title: t('people.stepTitle'), text: t('people.stepText'), act: t('people.noOperator') }))) return;
	const set = async (to) => {
		await api.patch(encoded`/users/${u.id}`, { operator: to }, { team: null });
		if (u.id === me.value.id) await arrive();
		else await list.reload();
	};
	await attempt(() => set(on), t(on ? 'people.operatorDone' : 'people.operatorEnded', words), { undo: u.id === me.value.id ? undefined : () => attempt(() => set(!on)) });
}

async function remove(u, list) {
	if (!(await confirm({ title: t('people.removeTitle', { name: u.name || u.email }), text: t('people.removeText', { n: u.teams.length }), act: t('people.remove') }))) return;
	const gone = await attempt(async () => {
		const answer = await api.del(encoded`/users/${u.id}`, undefined, { team: null });
		await list.reload();
		return answer;
	}, t('people.removed', { name: u.name || u.email }));
	if (gone) await keysLeft(u.name || u.email, gone.keys);
}
