// Waiting mail, its reasons and actions: of the team or, for operators, of all teams.
import { html, useState } from './lib/core.js';
import { useGet, useList } from './api.js';
import { exact, number, relative } from './format.js';
import { say, t } from './i18n.js';
import { base, place, setQuery } from './router.js';
import { me, team } from './state.js';
import { Live } from './emails.js';
import { encoded } from './paths.js';
import { act, move, requeue } from './queue-acts.js';
import { grouped, lookOf, reasonOf } from './queue-words.js';
import { Doubts } from './queue-doubts.js';
import { Relays } from './relays-lights.js';
import { Button, Empty, Failed, Head, Section, Sections, Select, Status, Time, Verdict } from './ui/base.js';
import { Meter } from './ui/chart.js';
import { Menu } from './ui/float.js';
import { Bulk, Csv, Table } from './ui/list.js';

const filterNames = ['relay', 'state', 'to_domain', 'from_domain', 'older_than', 'broadcast_id', 'restored'];

/** The team of the shown queue: X-Team, and how operators select one of all teams. */
function scope() {
	const asked = place.value.query.get('team');
	const all = me.value.operator && (asked === 'all' || !team.value || (asked && asked !== team.value));
	return { all: Boolean(all), header: all ? null : team.value, named: all && asked && asked !== 'all' ? asked : undefined };
}

function TeamChoice({ teams, named, all }) {
	if (!me.value.operator) return null;
	const rows = teams ?? me.value.teams;
	return html`<${Select} bare label=${t('queue.team')} value=${all ? named ?? 'all' : team.value} onChange=${(id) => setQuery({ team: id === team.value ? null : id })} options=${[['all', t('queue.allTeams')], ...rows.map((one) => [one.id, one.name])]} />`;
}

/** The headline: the relay with the most waiting mail. */
function Said({ data, operator, at, done }) {
	const groups = grouped(data.by);
	const worst = groups.find((g) => g.state === 'relay');
	if (worst) return html`<${Verdict} kind="bad" icon="alert" line=${t('queue.said.relay', { relay: worst.relay, word: worst.word, n: worst.count })} fix=${worst.detail ? t('queue.said.words', { words: worst.detail }) : t('queue.said.kept')} acts=${operator && html`<${Button} href=${base + encoded`/operator/relays?relay=${worst.relay}`}>${t('queue.toRelay')}<//><${Button} onClick=${() => move({ relay: worst.relay }, worst.count, at, done)}>${t('queue.acts.move', { n: worst.count })}<//>`} />`;
	if (!data.waiting) return html`<${Verdict} kind="good" line=${t('queue.said.empty')} />`;
	const held = groups.filter((g) => g.state === 'held').reduce((sum, g) => sum + g.count, 0);
	if (held) return html`<${Verdict} kind="warn" line=${t('queue.said.held', { n: held })} fix=${t('queue.said.heldFix')} acts=${html`<${Button} icon="play" onClick=${() => act('release', { state: 'held' }, held, at, done)}>${t('queue.verbs.release')}<//>`} />`;
	const late = data.oldest && Date.now() - new Date(data.oldest).getTime() > 600_000;
	if (late) return html`<${Verdict} kind="warn" line=${t('queue.said.late', { n: data.waiting, age: relative(data.oldest) })} fix=${t('queue.said.lateFix')} />`;
	return html`<${Verdict} kind="good" line=${t('queue.said.moves', { n: data.waiting })} />`;
}

/** The act that a reason asks for first. */
const firstAct = { relay: 'move', retry: 'retry', held: 'release', scheduled: 'hold', paced: 'hold', due: 'hold', quota: 'hold' };

function Reasons({ data, teams, all, operator, at, done }) {
	const groups = grouped(data.by);
	const name = (ids) => (ids.size > 1 ? t('queue.teams', { n: ids.size }) : teams?.find((one) => ids.has(one.id))?.name ?? '–');
	if (!groups.length) return html`<p class="muted">${t('queue.none')}</p>`;
	return html`<table class="table table--fixed"><thead><tr><th>${t('queue.reason')}</th><th class="hide-s w-relay">${t('queue.relay')}</th>${all && html`<th class="hide-s w-team">${t('queue.team')}</th>`}<th class="num w-num">${t('queue.emails')}</th><th class="num w-num"><span class="vh">${t('ui.acts')}</span></th></tr></thead><tbody>${groups.map((g) => {
		const verb = firstAct[g.state] === 'move' && !operator ? 'hold' : firstAct[g.state];
		const filter = { relay: g.relay, state: g.state === 'relay' || g.state in firstAct ? g.state : undefined };
		return html`<tr key=${g.key}><td class="cell-cut" title=${g.detail || g.word}><a href=${`${base}/queue?${new URLSearchParams({ ...keep(), tab: 'emails', relay: g.relay, ...(filter.state ? { state: filter.state } : {}) })}`}><${Status} of=${lookOf(g.state)} word=${g.word} /></a>${g.detail && html` <span class="muted only-l">${g.detail}</span>`}<span class="cell-sub">${g.relay}${g.detail ? ` · ${g.detail}` : ''}</span></td><td class="hide-s mono">${g.relay}</td>${all && html`<td class="cell-cut hide-s">${name(g.teams)}</td>`}<td class="num medium">${number(g.count)}</td><td class="num"><${Button} kind="quiet" label=${t('queue.actOn', { act: t(`queue.verbs.${verb}`), n: g.count })} onClick=${() => (verb === 'move' ? move(filter, g.count, at, done) : act(verb, filter, g.count, at, done))}>${t(`queue.verbs.${verb}`)}<//></td></tr>`;
	})}</tbody></table>`;
}

/** The part of the query that stays when a reason is opened. */
const keep = () => (place.value.query.get('team') ? { team: place.value.query.get('team') ?? '' } : {});

function Domains({ data }) {
	const most = data.to_domains[0]?.count ?? 1;
	if (!data.to_domains.length) return html`<p class="muted">${t('queue.none')}</p>`;
	return html`<table class="table table--fixed table--plain"><thead><tr><th>${t('queue.domain')}</th><th><span class="vh">${t('queue.share')}</span></th><th class="num w-num">${t('queue.emails')}</th></tr></thead><tbody>${data.to_domains.map((d) => html`<tr key=${d.domain}><td class="cell-cut"><a class="mono" href=${`${base}/queue?${new URLSearchParams({ ...keep(), tab: 'emails', to_domain: d.domain })}`}>${d.domain}</a></td><td><${Meter} part=${d.count / most} label=${t('queue.ofWaiting', { n: d.count })} /></td><td class="num">${number(d.count)}</td></tr>`)}</tbody></table>`;
}

function Filters({ filters, relays }) {
	const one = (name, value) => setQuery({ [name]: value || null });
	return html`<div class="tools queue-filters"><${Select} bare label=${t('queue.state')} value=${filters.state ?? ''} onChange=${(v) => one('state', v)} options=${[['', t('queue.anyState')], ...['due', 'scheduled', 'retry', 'held', 'relay', 'quota', 'paced'].map((s) => [s, t(`queue.reasons.${s}`)])]} />
	<${Select} bare label=${t('queue.relay')} value=${filters.relay ?? ''} onChange=${(v) => one('relay', v)} options=${[['', t('queue.anyRelay')], ...[...new Set([...relays, filters.relay].filter(Boolean))].map((r) => [r, r])]} />
	<${Select} bare label=${t('queue.age')} value=${filters.older_than ?? ''} onChange=${(v) => one('older_than', v)} options=${[['', t('queue.anyAge')], ...['10m', '1h', '6h', '1d', '3d'].map((a) => [a, t(`queue.ages.${a}`)])]} />
	<form class="row" onSubmit=${(e) => {
		e.preventDefault();
		one('to_domain', e.currentTarget.elements.namedItem('to').value.trim());
	}}><input class="input" name="to" aria-label=${t('queue.domain')} placeholder=${t('queue.domain')} value=${filters.to_domain ?? ''} onBlur=${(e) => one('to_domain', e.currentTarget.value.trim())} /></form>
	${filterNames.some((n) => filters[n]) && html`<${Button} kind="quiet" onClick=${() => setQuery(Object.fromEntries(filterNames.map((n) => [n, null])))}>${t('queue.clear')}<//>`}</div>`;
}

function Emails({ filters, at, data, operator, reload }) {
	const list = useList('/queue', { ...filters, team: at.named }, { live: (e) => e.name === 'queue', team: at.header });
	const [selected, select] = useState(new Set());
	const ids = [...selected];
	const done = () => {
		select(new Set());
		list.reload();
		reload();
	};
	const any = filterNames.some((n) => filters[n]);
	const whole = any ? filters : { all: true };
	const n = any ? undefined : data.waiting;
	const chosen = list.rows.filter((r) => selected.has(r.id));
	const picked = chosen.reduce((sum, r) => sum + (r.count ?? 1), 0);
	const columns = [
		{ name: t('queue.reason'), class: 'cell-name cell-cut', cell: (row) => {
			const said = reasonOf(row.state === 'retry' || row.state === 'relay' ? row.reason : row.state);
			return html`<span title=${row.reason}><${Status} of=${lookOf(row.state)} word=${said.word} />${said.detail && html` <span class="muted only-l">${said.detail}</span>`}</span><span class="cell-sub">${row.to.join(', ') || t('queue.recipients', { n: row.count ?? 0 })}</span>`;
		} },
		{ name: t('queue.to'), class: 'w-to cell-cut hide-s', cell: (row) => row.broadcast && row.count ? html`<a href=${base + encoded`/broadcasts/${row.broadcast}/report`}>${t('queue.recipients', { n: row.count })}</a>` : html`<a href=${base + encoded`/emails/${row.id}`} title=${row.to.join(', ')}><bdi>${row.to.join(', ')}</bdi></a>` },
		{ name: t('queue.relay'), class: 'w-relay cell-cut drop-1', cell: (row) => html`<span class="mono">${row.relay}</span>` },
		{ name: t('queue.nextTry'), class: 'w-state num muted hide-s', cell: (row) => row.next_at ? html`<time datetime=${row.next_at} title=${exact(row.next_at)}>${relative(row.next_at)}</time>` : '–' },
		{ name: t('queue.accepted'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	];
	const relays = [...new Set(data.by.map((b) => b.relay))];
	return html`<${Filters} filters=${filters} relays=${relays} />
	<div class="tools"><span class="t13r muted">${any ? t('queue.thatFits') : t('queue.inAll', { n: data.waiting })}</span><${Button} icon="refresh" onClick=${() => act('retry', whole, n, at, done)}>${t('queue.verbs.retry')}<//><${Button} icon="pause" onClick=${() => act('hold', whole, n, at, done)}>${t('queue.verbs.hold')}<//><${Button} icon="play" onClick=${() => act('release', whole, n, at, done)}>${t('queue.verbs.release')}<//>
	<${Menu} label=${t('ui.acts')} items=${[operator && { icon: 'relay', name: t('queue.verbs.move'), run: () => move(whole, n, at, done) }, { icon: 'history', name: t('queue.requeue'), run: () => requeue(at, filters, done) }, null, { icon: 'trash', name: t('queue.verbs.drop'), danger: true, run: () => act('drop', whole, n, at, done) }]} /></div>
	<${Table} list=${list} label=${t('queue.title')} columns=${columns} selected=${selected} onSelect=${select} open=${(row) => (row.broadcast && row.count ? base + encoded`/broadcasts/${row.broadcast}/report` : base + encoded`/emails/${row.id}`)} empty=${html`<${Empty} icon="queue" title=${any ? t('queue.noneFits') : t('queue.none')} act=${any && html`<${Button} onClick=${() => setQuery(Object.fromEntries(filterNames.map((name) => [name, null])))}>${t('queue.clear')}<//>`}>${any ? '' : t('queue.noneText')}<//>`} />
	${ids.length > 0 && html`<${Bulk} n=${ids.length} clear=${() => select(new Set())}>${['retry', 'hold', 'release'].filter((verb) => chosen.some((r) => (r.state === 'held') === (verb === 'release'))).map((verb) => html`<${Button} onClick=${() => act(verb, { ids }, picked, at, done)}>${t(`queue.verbs.${verb}`)}<//>`)}${operator && html`<${Button} onClick=${() => move({ ids }, picked, at, done)}>${t('queue.verbs.move')}<//>`}<${Button} kind="danger" onClick=${() => act('drop', { ids }, picked, at, done)}>${t('queue.acts.drop', { n: picked })}<//><//>`}`;
}

/** The page. */
export default function Queue() {
	const at = scope();
	const operator = me.value.operator;
	const query = place.value.query;
	const filters = Object.fromEntries(filterNames.map((n) => [n, query.get(n) || undefined]));
	const got = useGet('/queue', { limit: 1, team: at.named }, { live: (e) => e.name === 'queue', every: 10, team: at.header });
	const teams = useGet(operator ? '/teams' : null, { limit: 100 }, { team: null });
	const tab = ['emails', 'doubts'].includes(query.get('tab')) ? query.get('tab') : 'waiting';
	const link = (to) => `${base}/queue?${new URLSearchParams({ ...keep(), ...(to ? { tab: to } : {}) })}`.replace(/\?$/, '');
	const head = html`<${Head} title=${t('queue.title')} note=${html`<${Live} />`}><span class="hide-s"><${TeamChoice} teams=${teams.data?.data} ...${at} /></span><${Csv} path="/queue" query=${{ ...filters, team: at.named }} team=${at.header} name="queue" /><//>`;
	if (got.error && !got.data) return html`${head}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return head;
	const data = got.data;
	const done = () => got.reload();
	return html`${head}<${Said} data=${data} operator=${operator} at=${at} done=${done} />
	<${Sections} label=${t('queue.title')} at=${link(tab === 'waiting' ? '' : tab)} links=${[[t('queue.tabs.waiting'), link('')], [t('queue.tabs.emails'), link('emails'), data.waiting], [t('queue.tabs.doubts'), link('doubts')]]} />
	${tab === 'doubts' ? html`<${Doubts} at=${at} teams=${teams.data?.data} />` : tab === 'emails' ? html`<div class="queue-top"></div><${Emails} filters=${filters} at=${at} data=${data} operator=${operator} reload=${done} />` : html`<div class="page"><${Section} title=${t('queue.why')} acts=${html`<span class="muted t13r">${t('queue.inAll', { n: data.waiting })}${data.oldest ? html` · ${say('queue.oldest', { time: html`<${Time} at=${data.oldest} />` })}` : ''}</span>`}><${Reasons} data=${data} teams=${teams.data?.data ?? me.value.teams} all=${at.all} operator=${operator} at=${at} done=${done} /><//>
	<div class=${operator ? 'cols' : ''}><${Section} title=${t('queue.domains')} acts=${html`<span class="muted t13r">${t('queue.most')}</span>`}><${Domains} data=${data} /><//>
	${operator && html`<${Section} title=${t('relays.title')} acts=${html`<a class="link t13r" href=${`${base}/operator/relays`}>${t('relays.all')}</a>`}><${Relays} /><//>`}</div></div>`}`;
}
