// The list of broadcasts, with progress and results.
import { html, useMemo, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { BroadcastSections } from './broadcast-sections.js';
import { number, percent, sender } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { Button, Empty, Head, Input, Select, Status, Time } from './ui/base.js';
import { Meter } from './ui/chart.js';
import { attempt, confirm, dialog, DialogBody, Menu } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { membership } from './state.js';
import { designOf, hasDesign, Start } from './starters.js';

/** A broadcast's status: one that is queued counts as sending. @param {{of: any}} props */
export const BroadcastStatus = ({ of }) => {
	const state = of.paused_at ? 'paused' : of.status;
	return html`<${Status} of=${{ queued: 'sending', sent: 'completed' }[state] ?? state} word=${t(`broadcasts.status.${state}`)} />`;
};

/** Where a broadcast is looked at. @param {any} row */
export const pageOf = (row) => base + encoded`/broadcasts/${row.id}` + (row.status === 'draft' ? '' : '/report');

/** Stops a broadcast that was not sent to all yet. @param {any} b @param {() => any} [after] */
export async function cancel(b, after) {
	const left = b.counts?.remaining ?? 0;
	if (!(await confirm({ title: t('broadcasts.cancelTitle', { name: b.name }), text: b.status === 'scheduled' ? t('broadcasts.cancelScheduled') : t('broadcasts.cancelText', { n: left }), act: b.status === 'scheduled' || !left ? t('broadcasts.cancel') : t('broadcasts.cancelAct', { n: left }), keep: t('broadcasts.goOn'), n: left }))) return;
	await attempt(() => api.post(encoded`/broadcasts/${b.id}/cancel`), (answer) => t('broadcasts.canceled', { n: answer.canceled_remaining }));
	after?.();
}

/** Pauses a broadcast that is being sent, or resumes it. @param {any} b @param {() => any} [after] */
export async function pause(b, after) {
	await attempt(() => (b.paused_at ? api.post(encoded`/broadcasts/${b.id}/resume`) : api.post(encoded`/broadcasts/${b.id}/pause`)), t(b.paused_at ? 'broadcasts.resumeDone' : 'broadcasts.pauseDone'));
	after?.();
}

/** Makes a scheduled broadcast a draft again, and opens it. @param {any} b */
export const unschedule = (b) => attempt(async () => {
	await api.post(encoded`/broadcasts/${b.id}/unschedule`);
	go(encoded`/broadcasts/${b.id}`, { replace: true });
}, t('broadcasts.unscheduleDone'));

/** Copies a broadcast and opens the copy. @param {string} id */
export const duplicate = (id) => attempt(async () => {
	const made = await api.post(encoded`/broadcasts/${id}/duplicate`);
	go(encoded`/broadcasts/${made.id}`);
}, t('broadcasts.duplicated'));

const part = (n, of) => (of ? html`${number(n)} <span class="muted">${percent(n / of)}</span>` : html`<span class="muted">–</span>`);

function Progress({ of }) {
	const { counts } = of;
	if (of.status === 'draft') return html`<span class="muted">${t('broadcasts.notSent')}</span>`;
	if (of.status === 'scheduled') return html`<${Time} at=${of.scheduled_at} as="clock" />`;
	const done = counts.recipients - counts.remaining;
	if (of.status !== 'queued') return html`<span class="muted"><${Time} at=${of.sent_at ?? of.created_at} as="clock" /></span>`;
	return html`<span class="how-far"><${Meter} part=${counts.recipients ? done / counts.recipients : 0} label=${t('broadcasts.progress', { done, n: counts.recipients })} /><span class="num t12 muted">${number(done)}</span></span>`;
}

/** The page. */
export default function Broadcasts() {
	const list = useList('/broadcasts', {}, { live: (e) => e.name === 'broadcast' });
	const segments = useList('/segments', {}, { limit: 100 });
	const named = useMemo(() => new Map(segments.rows.map((s) => [s.id, s.name])), [segments.rows]);
	const remove = async (row) => {
		if (!(await confirm({ title: t('broadcasts.deleteTitle', { name: row.name }), text: t('broadcasts.deleteText'), act: t('broadcasts.delete') }))) return;
		await attempt(() => api.del(encoded`/broadcasts/${row.id}`), t('broadcasts.deleted', { name: row.name }));
		list.reload();
	};
	const audience = (row) => (row.segment_id ? named.get(row.segment_id) ?? t('broadcasts.segmentGone') : t('composer.everybody'));
	const make = html`<${Button} kind="primary" icon="plus" onClick=${create}>${t('broadcasts.new')}<//>`;
	return html`<${Head} title=${t('broadcasts.title')}><${Csv} path="/broadcasts" name="broadcasts" />${make}<//><${BroadcastSections} at="broadcasts" />
	<${Table} list=${list} label=${t('broadcasts.title')} open=${pageOf} empty=${html`<${Empty} ghost=${[['Summer dates', html`<${BroadcastStatus} of=${{ status: 'draft' }} />`, '–'], ['Product news', html`<${BroadcastStatus} of=${{ status: 'sent' }} />`, number(2482)]]} icon="broadcast" title=${t('broadcasts.none')} act=${make}>${t('broadcasts.noneText')}<//>`} columns=${[
		{ name: t('broadcasts.name'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${pageOf(row)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub"><${BroadcastStatus} of=${row} /> <span class="muted">${row.counts.recipients ? number(row.counts.recipients) : ''}</span></span>` },
		{ name: t('broadcasts.state'), class: 'w-status hide-s', cell: (row) => html`<${BroadcastStatus} of=${row} />` },
		{ name: t('broadcasts.audience'), class: 'w-part cell-cut drop-1', cell: (row) => html`<bdi>${audience(row)}</bdi>` },
		{ name: t('broadcasts.people'), class: 'w-count num drop-2', cell: (row) => (row.counts.recipients ? number(row.counts.recipients) : html`<span class="muted">–</span>`) },
		{ name: t('broadcasts.when'), class: 'w-when hide-s', cell: (row) => html`<${Progress} of=${row} />` },
		{ name: t('broadcasts.opened'), class: 'w-rate num hide-s', cell: (row) => part(row.counts.opened, row.counts.delivered) },
		{ name: t('broadcasts.clicked'), class: 'w-rate num drop-2', cell: (row) => part(row.counts.clicked, row.counts.delivered) },
		{ name: t('ui.acts'), hide: true, class: 'cell-acts w-acts', cell: (row) => html`<${Menu} kind="quiet" label=${t('broadcasts.actsOf', { name: row.name })} items=${[
			row.status === 'draft' ? { icon: 'edit', name: t('broadcasts.write'), href: pageOf(row) } : { icon: 'gauge', name: t('broadcasts.report'), href: pageOf(row) },
			{ icon: 'copy', name: t('broadcasts.duplicate'), run: () => duplicate(row.id) },
			row.status === 'queued' && { icon: row.paused_at ? 'play' : 'pause', name: t(row.paused_at ? 'broadcasts.resume' : 'broadcasts.pause'), run: () => pause(row, list.reload) },
			row.status === 'scheduled' && { icon: 'edit', name: t('broadcasts.unschedule'), run: () => unschedule(row) },
			(row.status === 'queued' || row.status === 'scheduled') && { icon: 'x', name: t('broadcasts.cancel'), danger: true, run: () => cancel(row, list.reload) },
			row.status === 'draft' && { icon: 'trash', name: t('broadcasts.delete'), danger: true, run: () => remove(row) },
		]} />` },
	]} />`;
}

/** Asks for what a draft needs, and opens it. */
export const create = () => dialog((close) => html`<${New} close=${close} />`);

const beginning = '<!doctype html>\n<html lang="en">\n<body>\n<p>Hello {{{contact.first_name|there}}},</p>\n<p></p>\n<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>\n</body>\n</html>\n';

/** The members copied from a template or the last broadcast. */
const copied = ['subject', 'preview_text', 'html', 'text', 'design', 'syntax', 'variants'];

/** The parts of a new broadcast that its start decides. @param {string} start @param {string} name @param {{template: string, last: any}} from */
async function contentOf(start, name, { template, last }) {
	if (start !== 'template' && start !== 'last') return { subject: name, syntax: 'liquid', html: beginning, ...(hasDesign(start) ? { design: designOf(start, { broadcast: true }) } : {}) };
	const whole = await api.get(start === 'last' ? encoded`/broadcasts/${last.id}` : encoded`/templates/${template}`);
	const out = Object.fromEntries(copied.map((part) => [part, whole[part]]).filter(([, value]) => value !== null && value !== undefined));
	return { ...out, subject: out.subject || name, html: out.html ?? beginning, ...(start === 'last' && whole.topic_id ? { topic_id: whole.topic_id } : {}) };
}

function New({ close }) {
	const domains = useList('/domains', {}, { limit: 100 });
	const segments = useList('/segments', {}, { limit: 100 });
	const templates = useList('/templates', {}, { limit: 100 });
	const last = useList('/broadcasts', {}, { limit: 1 }).rows[0];
	const verified = domains.rows.filter((d) => d.status === 'verified').map((d) => d.name);
	const [name, setName] = useState('');
	const [from, setFrom] = useState(/** @type {string|null} */ (null));
	const [segment, setSegment] = useState('');
	const [start, setStart] = useState('announcement');
	const [picked, pick] = useState('');
	const [wrong, setWrong] = useState('');
	const template = picked || templates.rows[0]?.id;
	const address = from ?? (verified.length ? sender(membership.value?.name ?? '', `news@${verified[0]}`) : '');
	const make = async () => {
		try {
			const made = await api.post('/broadcasts', { name: name.trim(), from: address, ...(await contentOf(start, name.trim(), { template, last })), ...(segment ? { segment_id: segment } : {}) });
			close();
			go(encoded`/broadcasts/${made.id}`);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('broadcasts.new')} onSubmit=${make} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!name.trim() || !address}>${t('broadcasts.begin')}<//>`}>
		<${Input} label=${t('broadcasts.name')} hint=${t('broadcasts.nameHint')} value=${name} onInput=${setName} autofocus maxlength="255" />
		<${Input} label=${t('composer.from')} hint=${!domains.loading && !verified.length ? t('broadcasts.noDomain') : t('broadcasts.fromHint')} value=${address} onInput=${setFrom} error=${wrong} />
		<${Select} label=${t('broadcasts.audience')} value=${segment} onChange=${setSegment} options=${[['', t('composer.everybody')], ...segments.rows.map((s) => [s.id, s.name])]} />
		<${Start} value=${start} onChange=${setStart} hint=${start === 'last' ? t('starters.copyOf', { name: last.name }) : undefined} options=${['announcement', 'digest', 'receipt', ...(templates.rows.length ? ['template'] : []), ...(last ? ['last'] : []), 'blank', 'mjml', 'html']} />
		${start === 'template' && html`<${Select} label=${t('starters.pick')} value=${template} onChange=${pick} options=${templates.rows.map((row) => [row.id, row.name])} />`}<//>`;
}
