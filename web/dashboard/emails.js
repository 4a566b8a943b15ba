// The list of emails: one query box, saved views, live.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { clock, duration, exact, mailbox } from './format.js';
import { say, t } from './i18n.js';
import { hearing } from './live.js';
import { base, go, place } from './router.js';
import { Picks, QueryBox } from './emails-box.js';
import { replyOf } from './email-parts.js';
import { addressOf, ask, keys, read, timeOfId, written } from './emails-query.js';
import { drop, Views } from './emails-views.js';
import { EmailSections } from './email-sections.js';
import { encoded } from './paths.js';
import { sendDialog } from './send.js';
import { me } from './state.js';
import { Button, Empty, Head, Notice, Status, Time } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';
import { Bulk, Csv, Table } from './ui/list.js';

/** The filters of the address bar, in order. */
function filtersOf(query) {
	/** @type {Record<string, string>} */
	const filters = {};
	for (const [name, value] of query) {
		const key = { key_id: 'key', broadcast_id: 'broadcast', created_after: 'after', created_before: 'before' }[name] ?? name;
		if (name === 'q') Object.assign(filters, read(value));
		else if (keys.includes(key) && value) filters[key] = value;
	}
	return filters;
}

/** Whether the shown rows update live. */
export const Live = () => (hearing.value === 'off' ? null : html`<span class=${`live ${hearing.value === 'live' ? '' : 'is-off'}`}>${t(`ui.${hearing.value}`)}</span>`);

/** The lists that names in filters are looked up in; loaded when they are needed. */
function useKnown(needed, named) {
	const names = useGet(needed ? '/api-keys' : null, { limit: 100 });
	const broadcasts = useGet(needed ? '/broadcasts' : null, { limit: 100 });
	const domains = useGet(named ? '/domains' : null, { limit: 100 });
	// A list that may not be read has no names.
	const rows = (got) => got.data?.data ?? (got.error ? [] : undefined);
	return { keys: rows(names), broadcasts: rows(broadcasts), domains: rows(domains) };
}

/** A recipient with a name, or the first of several. */
function To({ to }) {
	const first = mailbox(to[0] ?? '');
	return html`<bdi>${first.name || first.address}</bdi>${first.name && html` <span class="muted">${first.address}</span>`}${to.length > 1 && html` <span class="muted">${t('emails.others', { n: to.length - 1 })}</span>`}`;
}

/** How old an email is; of one that is scheduled in how long it leaves, by its largest unit. */
function Age({ of: row }) {
	if (row.state !== 'scheduled' || !row.scheduled_at) return html`<${Time} at=${row.created_at} />`;
	const s = (new Date(row.scheduled_at).getTime() - Date.now()) / 1000;
	const unit = s >= 86400 ? 86400 : s >= 3600 ? 3600 : 60;
	return html`<time datetime=${row.scheduled_at} title=${exact(row.scheduled_at)}>${t('time.in', { span: duration(Math.max(unit, Math.floor(s / unit) * unit)) })}</time>`;
}

/** Cancels emails that were selected, after a question. */
async function cancel(ids, done) {
	const n = ids.length;
	if (!(await confirm({ title: t('emails.cancelTitle', { n }), text: t('emails.cancelText'), act: t('emails.cancel', { n }), keep: t('ui.keep'), n }))) return;
	await attempt(async () => {
		const result = await api.post('/queue/drop', { ids });
		done();
		return result;
	}, (result) => (result.changed === n ? t('emails.canceled', { n }) : t('emails.canceledSome', { n: result.changed, all: n })));
}

const retry = (ids, done) => attempt(async () => {
	const result = await api.post('/queue/retry', { ids });
	done();
	return result;
}, (result) => t('emails.retried', { n: result.changed }));

/** States in which an email can be retried now, and canceled. One that is held or scheduled can only be canceled. */
const waiting = ['queued', 'deferred'];

/** How far it was looked. @param {Date} at */
const backTo = (at) => say('emails.searchedTo', { time: html`<time datetime=${at.toISOString()} title=${exact(at)}>${clock(at)}</time>` });

/** Nothing found: how far the search came, and what to do next. */
function Nothing({ list, filters, wrong }) {
	const given = Object.entries(filters);
	const bad = Object.keys(wrong)[0];
	if (bad) return html`<${Empty} icon="search" title=${t('emails.unread')} act=${html`<${Button} onClick=${() => go(drop(filters, bad))}>${t('emails.without', { token: written(bad, filters[bad]) })}<//>`}>${wrong[bad]}<//>`;
	if (!given.length) return html`<${Empty} ghost=${[[html`<${Status} of="delivered" />`, 'ann@example.com', 'Welcome, Ann', t('time.min', { n: 2 })], [html`<${Status} of="opened" />`, 'ben@example.com', 'Invoice 2041', t('time.min', { n: 9 })], [html`<${Status} of="bounced" />`, 'zoe@example.com', 'Password reset', t('time.h', { n: 1 })]]} icon="mail" title=${t('emails.none')} act=${html`<${Button} onClick=${sendDialog} icon="send">${t('emails.sendFirst')}<//><${Button} href=${base + '/'}>${t('emails.steps')}<//>`}>${t('emails.noneText')}<//>`;
	const on = list.page?.has_more && list.page.searched_to;
	const at = on && timeOfId(list.page.searched_to);
	return html`<${Empty} icon="mail" title=${t('emails.nothing')} act=${html`${on && html`<${Button} kind="primary" onClick=${list.more}>${t('emails.further')}<//>`}${given.slice(-2).map(([key, value]) => html`<${Button} onClick=${() => go(drop(filters, key))}>${t('emails.without', { token: written(key, value) })}<//>`)}`}>${at ? html`${backTo(at)}. ${t('emails.notYet')}` : t('emails.nothingText')}<//>`;
}

/** The tags of an email, each of which narrows the list. @param {{of: {name: string, value: string}[], filters: any}} props */
function Tags({ of, filters }) {
	return html`<span title=${of.map((tag) => `${tag.name}=${tag.value}`).join(', ')}>${of.map((tag) => html`<a class="tag" href=${`${base}${addressOf({ ...filters, tag: `${tag.name}:${tag.value}` })}`}>${tag.name}=${tag.value}</a> `)}</span>`;
}

/** States of mail that was not delivered, whose reason the list shows. */
const unfortunate = ['bounced', 'failed', 'complained', 'deferred', 'delivery_delayed'];

/** Why an email did not arrive: the server's response, and whose mail it is about if there are several recipients. */
function Why({ of: row }) {
	const [code, reply] = replyOf(row.reason?.detail ?? {});
	if (!unfortunate.includes(row.state) || !(code || reply)) return null;
	const one = row.to.length + row.cc.length + row.bcc.length > 1 && row.reason.recipient;
	return html`<span class="cell-why" title=${one ? `${one}: ${reply}` : reply}>${one && html`<bdi>${one}</bdi>: `}${code && html`<span class="mono">${code}</span> `}${reply}</span>`;
}

/** The page. */
export default function Emails() {
	const filters = filtersOf(place.value.query);
	const [wanted, want] = useState(false);
	const [calm, setCalm] = useState(false); // the list is asked for first
	useEffect(() => {
		const timer = setTimeout(() => setCalm(true), 500);
		return () => clearTimeout(timer);
	}, []);
	const known = useKnown(wanted || ['key', 'broadcast'].some((k) => filters[k]), wanted || calm);
	const { query, wrong, waits } = ask(filters, known);
	const refused = Object.keys(wrong).length > 0;
	const list = useList(refused || waits || filters.id ? null : '/emails', { ...query, include: 'reason' }, { live: (e) => e.name === 'email', counts: (e) => e.data?.event === 'queued' || e.data?.event === 'scheduled' });
	const [selected, select] = useState(new Set());
	const text = JSON.stringify(filters);
	useEffect(() => select(new Set()), [text]);
	useEffect(() => {
		if (filters.id && !wrong.id) go(encoded`/emails/${filters.id}`, { replace: true });
	}, [filters.id]);
	const of = (states) => list.rows.filter((row) => selected.has(row.id) && states.includes(row.state)).map((row) => row.id);
	const tried = of(waiting);
	const canceled = of([...waiting, 'held', 'scheduled']);
	const done = () => {
		select(new Set());
		list.reload();
	};
	const at = list.page?.has_more && list.page.searched_to && Object.keys(query).length ? timeOfId(list.page.searched_to) : null;
	const columns = [
		{ name: t('emails.status'), class: 'w-status hide-s', cell: (row) => html`<${Status} of=${row.state} />` },
		{ name: t('emails.to'), class: 'w-to cell-cut hide-s', cell: (row) => html`<span title=${row.to.join(', ')}><${To} to=${row.to} /></span>` },
		{ name: html`<span class="only-l">${t('emails.subject')}</span><span class="only-s">${t('emails.subjectAll')}</span>`, class: 'cell-name cell-cut', cell: (row) => html`<a href=${base + encoded`/emails/${row.id}`} title=${row.subject}><bdi>${row.subject || t('emails.noSubject')}</bdi></a><${Why} of=${row} /><span class="cell-sub"><${Status} of=${row.state} /><${To} to=${row.to} /></span>` },
		...(list.rows.some((row) => row.tags?.length) ? [{ name: t('emails.tags'), class: 'w-to cell-cut drop-1', cell: (row) => html`<${Tags} of=${row.tags} filters=${filters} />` }] : []),
		{ name: t('emails.age'), class: 'w-age num muted', cell: (row) => html`<${Age} of=${row} />` },
	];
	const blank = html`<${Nothing} list=${list} filters=${filters} wrong=${wrong} />`;
	const body = refused || (!list.rows.length && !list.loading && !list.error && !waits && list.page) ? blank : html`<${Table} list=${list} label=${t('emails.label')} open=${(row) => base + encoded`/emails/${row.id}`} empty=${blank} columns=${columns} selected=${selected} onSelect=${select} fresh=${(n) => t('emails.fresh', { n })}
		searched=${at && html`<span>${backTo(at)}</span>`} />`;
	return html`<${Head} title=${t('emails.title')}><${Live} /><${Csv} path="/emails" query=${query} name="emails" /><${Button} icon="plus" kind="primary" onClick=${sendDialog}>${t('emails.send')}<//><//>
	<${EmailSections} at="emails" />
	${me.value.capturing && html`<div class="tools tools--under"><${Notice}>${t('overview.capturing')}<//></div>`}
	<div class="tools tools--under"><${QueryBox} filters=${filters} wrong=${wrong} known=${known} onNeed=${() => want(true)} onChange=${(next) => go(addressOf(next))} /><${Picks} filters=${filters} domains=${known.domains} onChange=${(next) => go(addressOf(next))} /></div>
	<${Views} filters=${filters} wrong=${refused} />
	${body}
	${selected.size > 0 && html`<${Bulk} n=${selected.size} clear=${() => select(new Set())}>${tried.length > 0 && html`<${Button} icon="refresh" onClick=${() => retry(tried, done)}>${t('emails.retry')}<//>`}${canceled.length > 0 && html`<${Button} kind="danger" onClick=${() => cancel(canceled, done)}>${t('emails.cancel', { n: canceled.length })}<//>`}<//>`}`;
}
