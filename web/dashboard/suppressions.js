// Addresses that get no mail: why, since when, and lifting it.
import { html, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, place, setQuery } from './router.js';
import { Button, Copy, Empty, Head, Input, Select, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, toast } from './ui/float.js';
import { AudienceSections } from './ui/audience.js';
import { Bulk, Csv, Table } from './ui/list.js';
import { ImportSuppressions } from './suppressions-import.js';

const origins = ['bounce', 'complaint', 'manual', 'unsubscribe'];

function AddSuppression({ close }) {
	const [email, setEmail] = useState('');
	const [wrong, say] = useState('');
	const send = async () => {
		try {
			close(await api.post('/suppressions', { email: email.trim() }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
		}
	};
	return html`<${DialogBody} title=${t('suppressions.addTitle')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('suppressions.add')}<//>`}>
		<p>${t('suppressions.addText')}</p>
		<${Input} label=${t('suppressions.address')} type="email" value=${email} onInput=${setEmail} error=${wrong} autocomplete="off" required autofocus /><//>`;
}

/** The effect of removing a suppression, by its origin. @param {any[]} rows */
const warning = (rows) => t(rows.some((r) => r.origin === 'complaint') ? 'suppressions.liftComplaint' : rows.some((r) => r.origin === 'unsubscribe') ? 'suppressions.liftUnsubscribe' : rows.some((r) => r.origin === 'bounce') ? 'suppressions.liftBounce' : 'suppressions.liftManual');

/** The page. */
export default function Suppressions() {
	const origin = place.value.query.get('origin') ?? '';
	const email = place.value.query.get('email') ?? '';
	const query = { origin, email };
	const list = useList('/suppressions', query);
	const [selected, select] = useState(/** @type {Set<string>} */ (new Set()));
	const [typed, type] = useState(email);
	const add = async () => {
		const made = await dialog((close) => html`<${AddSuppression} close=${close} />`);
		if (!made) return;
		toast(t('suppressions.added', { email: made.email }), { undo: () => attempt(async () => {
			await api.del(encoded`/suppressions/${made.id}`);
			await list.reload();
		}) });
		await list.reload();
	};
	const bring = async () => {
		if (await dialog((close) => html`<${ImportSuppressions} close=${close} />`)) await list.reload();
	};
	const lift = (rows) => attempt(async () => {
		const n = rows.length;
		if (!(await confirm({ title: t('suppressions.liftTitle', { n, email: rows[0].email }), text: warning(rows), act: t('suppressions.liftAct', { n }), n }))) return;
		await api.post('/suppressions/batch/remove', { ids: rows.map((r) => r.id) });
		select(new Set());
		toast(t('suppressions.lifted', { n }));
		await list.reload();
	});
	const find = () => setQuery({ email: typed.trim() });
	const rows = list.rows.filter((r) => selected.has(r.id));
	const acts = html`<${Button} onClick=${bring}>${t('suppressions.import')}<//><${Button} kind="primary" icon="plus" onClick=${add}>${t('suppressions.add')}<//>`;
	return html`<${Head} title=${t('suppressions.title')} note=${list.page?.total !== undefined && html`<span class="muted t13r nowrap">${t('suppressions.total', { n: list.page.total })}</span>`}><${Csv} path="/suppressions" query=${query} name="suppressions" />${acts}<//>
	<${AudienceSections} at="suppressions" />
	<div class="tools tools--under"><form class="row" onSubmit=${(e) => {
		e.preventDefault();
		find();
	}}><input class="input requests-path" type="email" aria-label=${t('suppressions.find')} placeholder=${t('suppressions.find')} value=${typed} onInput=${(e) => type(e.currentTarget.value)} /><${Button} type="submit" icon="search" label=${t('suppressions.findAct')} /></form>
		<${Select} bare label=${t('suppressions.origin')} value=${origin} onChange=${(value) => setQuery({ origin: value })} options=${[['', t('suppressions.any')], ...origins.map((o) => [o, t(`suppressions.origins.${o}`)])]} /></div>
	<${Table} list=${list} label=${t('suppressions.title')} selected=${selected} onSelect=${select} empty=${html`<${Empty} ghost=${origin || email ? undefined : [['ann@example.com', t('suppressions.origins.bounce'), t('time.h', { n: 2 })], ['ben@example.com', t('suppressions.origins.unsubscribe'), t('time.d', { n: 3 })]]} icon="st-suppressed" title=${email ? t('suppressions.isNot', { email }) : t(origin ? 'suppressions.noneSuch' : 'suppressions.none')} act=${origin || email ? html`<${Button} onClick=${() => {
		type('');
		setQuery({ origin: null, email: null });
	}}>${t('suppressions.showAll')}<//>` : html`<${Button} onClick=${bring}>${t('suppressions.import')}<//>`}>${t('suppressions.noneText')}<//>`} columns=${[
		{ name: t('suppressions.address'), class: 'cell-name cell-cut', cell: (row) => html`<${Copy} text=${row.email} mono=${false} show=${html`<bdi>${row.email}</bdi>`} /><span class="cell-sub">${t(`suppressions.origins.${row.origin}`)}</span>` },
		{ name: t('suppressions.origin'), class: 'w-rectype hide-s', cell: (row) => t(`suppressions.origins.${row.origin}`) },
		{ name: t('suppressions.cause'), class: 'w-team cell-cut drop-2', cell: (row) => row.source_id ? html`<a class="link" href=${base + encoded`/emails/${row.source_id}`}>${t('suppressions.mail')}</a>` : html`<span class="muted">–</span>` },
		{ name: t('suppressions.since'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'w-state num hide-s', cell: (row) => html`<${Button} kind="quiet" onClick=${() => lift([row])}>${t('suppressions.lift')}<//>` },
	]} />
	${rows.length > 0 && html`<${Bulk} n=${rows.length} clear=${() => select(new Set())}><${Button} kind="danger" onClick=${() => lift(rows)}>${t('suppressions.liftAct', { n: rows.length })}<//><//>`}`;
}
