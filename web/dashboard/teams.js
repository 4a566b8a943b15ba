// All teams of this server, to the operator.
import { html, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { about, arrive, Said, useForm } from './gate.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { me } from './state.js';
import { Button, Check, Empty, Head, Id, Input, Sections, Select, Status, Time } from './ui/base.js';
import { attempt, dialog, DialogBody, Menu, toast } from './ui/float.js';
import { Table } from './ui/list.js';

/** The tabs of teams and people. @param {{at: string}} props */
export const TeamsSections = ({ at }) => html`<${Sections} label=${t('teams.sections')} at=${base + at} links=${[[t('teams.title'), `${base}/operator/teams`], [t('teams.people'), `${base}/operator/people`]]} />`;

/** The page. */
export default function Teams() {
	const list = useList('/teams', {}, { team: null });
	const open = (Body, of) => dialog((close) => html`<${Body} close=${close} of=${of} list=${list} />`);
	const columns = [
		{ name: t('teams.name'), class: 'cell-name cell-cut', cell: (one) => html`<bdi class="medium">${one.name}</bdi>${me.value.teams.some((mine) => mine.id === one.id) && html` <span class="badge">${t('teams.mine')}</span>`}<span class="cell-sub">${planWord(one)}${one.suspended && one.reason ? ` · ${one.reason}` : ''}</span>` },
		{ name: t('audit.id'), hide: true, class: 'w-team drop-1', cell: (one) => html`<${Id} of=${one.id} />` },
		{ name: t('teams.plan'), class: 'w-team hide-s', cell: planWord },
		{ name: t('teams.state'), class: 'w-status cell-cut', cell: (one) => (one.suspended ? html`<span title=${one.reason}><${Status} of="held" word=${t('teams.suspended')} /></span>` : html`<${Status} of="ok" word=${t('teams.active')} />`) },
		{ name: t('teams.made'), class: 'w-age num hide-s', cell: (one) => html`<${Time} at=${one.created_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'w-acts num', cell: (one) => html`<${Menu} kind="quiet" label=${t('teams.acts', { name: one.name })} items=${[
			{ icon: 'edit', name: t('teams.rename'), run: () => open(Rename, one) },
			me.value.mode === 'cloud' && { icon: 'gauge', name: t('teams.changePlan'), run: () => open(Plan, one) },
			one.suspended ? { icon: 'play', name: t('teams.resume'), run: () => suspend(one, false, '', list) } : { icon: 'pause', name: t('teams.suspend'), run: () => open(Suspend, one) },
			null,
			{ icon: 'trash', name: t('teams.delete'), danger: true, run: () => open(Delete, one) },
		]} />` },
	];
	return html`<${Head} title=${t('teams.title')}><${Button} kind="primary" icon="plus" onClick=${() => void open(Add)}>${t('teams.add')}<//><//><${TeamsSections} at="/operator/teams" />
	<${Table} list=${list} columns=${columns} label=${t('teams.label')} empty=${html`<${Empty} icon="teams" title=${t('teams.empty')} act=${html`<${Button} icon="plus" onClick=${() => void open(Add)}>${t('teams.add')}<//>`} />`} />`;
}

const planWord = (one) => (me.value.mode !== 'cloud' ? t('teams.noLimits') : one.included === null ? t(`teams.plans.${one.plan}`) : t('teams.monthly', { plan: t(`teams.plans.${one.plan}`), n: one.included }));

/** The frame of a dialog that sends. */
const Sends = ({ title, form, close, act, fields, kind = 'primary', held = false, children }) => html`<${DialogBody} title=${title} onSubmit=${() => held || form.submit()} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind=${kind} disabled=${held} busy=${form.busy}>${act}<//>`}><${Said} form=${form} fields=${fields} />${children}<//>`;

/** Changes a team. @param {any} of @param {any} change @param {any} list */
async function patch(of, change, list) {
	await api.patch(encoded`/teams/${of.id}`, change, { team: null });
	await list.reload();
}

function Add({ close, list }) {
	const [name, setName] = useState('');
	const form = useForm(async () => {
		await api.post('/teams', { name: name.trim() }, { team: null });
		await list.reload();
		close();
		toast(t('teams.added', { name: name.trim() }));
	});
	return html`<${Sends} title=${t('teams.addTitle')} form=${form} close=${close} act=${t('teams.add')} fields=${['name']}><p>${t('teams.addText')}</p><${Input} label=${t('teams.name')} required maxlength="100" value=${name} onInput=${setName} error=${about(form.error, 'name')} autofocus /><//>`;
}

function Rename({ close, of, list }) {
	const [name, setName] = useState(of.name);
	const form = useForm(async () => {
		await patch(of, { name: name.trim() }, list);
		close();
		await arrive();
		toast(t('teams.renamed'), { undo: () => attempt(() => patch(of, { name: of.name }, list)) });
	});
	return html`<${Sends} title=${t('teams.renameTitle', { name: of.name })} form=${form} close=${close} act=${t('teams.rename')} fields=${['name']}><${Input} label=${t('teams.name')} required maxlength="100" value=${name} onInput=${setName} error=${about(form.error, 'name')} autofocus /><//>`;
}

function Plan({ close, of, list }) {
	const [plan, setPlan] = useState(of.plan);
	const [included, setIncluded] = useState(of.included === null ? '' : String(of.included));
	const [overage, setOverage] = useState(of.overage);
	const monthly = plan === 'pro' || plan === 'scale';
	const form = useForm(async () => {
		const n = Number(included.replace(/\D/g, ''));
		await patch(of, { plan, ...(monthly && n ? { included: n } : {}), ...(monthly && overage ? { overage } : {}) }, list);
		close();
		toast(t('teams.planDone', { name: of.name, plan: t(`teams.plans.${plan}`) }));
	});
	return html`<${Sends} title=${t('teams.planTitle', { name: of.name })} form=${form} close=${close} act=${t('teams.changePlan')} fields=${['included']}>
	<${Select} label=${t('teams.plan')} value=${plan} onChange=${(to) => {
		setPlan(to);
		if (to !== plan) setIncluded('');
	}} options=${['free', 'starter', 'pro', 'scale'].map((id) => [id, t(`teams.plans.${id}`)])} hint=${t('teams.planHint')} />
	${monthly && html`<${Input} label=${t('teams.included')} inputmode="numeric" value=${included} onInput=${setIncluded} hint=${t('teams.includedHint')} error=${about(form.error, 'included')} /><${Check} label=${t('teams.overage')} checked=${overage} onChange=${setOverage} />`}<//>`;
}

/** @param {any} of @param {boolean} on @param {string} reason @param {any} list */
const suspend = (of, on, reason, list) => attempt(() => patch(of, { suspended: on, ...(on ? { reason } : {}) }, list), t(on ? 'teams.suspendDone' : 'teams.resumed', { name: of.name }), { undo: () => attempt(() => patch(of, on ? { suspended: false } : { suspended: true, reason: of.reason ?? '' }, list)) });

function Suspend({ close, of, list }) {
	const [reason, setReason] = useState('');
	const form = useForm(async () => {
		close();
		await suspend(of, true, reason.trim(), list);
	});
	return html`<${Sends} title=${t('teams.suspendTitle', { name: of.name })} form=${form} close=${close} act=${t('teams.suspend')} kind="danger"><p>${t('teams.suspendText')}</p><${Input} label=${t('teams.reason')} required value=${reason} onInput=${setReason} hint=${t('teams.reasonHint')} autofocus /><//>`;
}

function Delete({ close, of, list }) {
	const [name, setName] = useState('');
	const form = useForm(async () => {
		const gone = await api.del(encoded`/teams/${of.id}`, undefined, { team: null, query: { name } });
		close();
		await list.reload();
		await arrive();
		toast(t('teams.deleted', { name: of.name, emails: number(gone.emails), contacts: number(gone.contacts), dropped: number(gone.dropped) }));
	});
	return html`<${Sends} title=${t('teams.deleteTitle', { name: of.name })} form=${form} close=${close} act=${t('teams.deleteAct')} kind="danger-solid" held=${name !== of.name}><p>${t('teams.deleteText')}</p><${Input} label=${t('teams.name')} placeholder=${of.name} autocomplete="off" value=${name} onInput=${setName} autofocus /><//>`;
}
