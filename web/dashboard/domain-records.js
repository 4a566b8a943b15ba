// The DNS records of a domain: what to publish, what is found, and the score.
import { html, useState } from './lib/core.js';
import { t } from './i18n.js';
import { relays } from './counts.js';
import { detailOf, diverts } from './domain-receiving.js';
import { number } from './format.js';
import { Button, Code, Copy, Icon, Notice, Section, Seg, Status } from './ui/base.js';

/** The suffixes of which the last label but one is no name of its own. */
const second = new Set(['co', 'com', 'org', 'net', 'ac', 'gov', 'edu']);

/** The zone that most likely contains a domain. @param {string} name */
export function zoneOf(name) {
	const labels = name.split('.');
	const short = labels.length > 2 && labels[labels.length - 1].length === 2 && second.has(labels[labels.length - 2]);
	return labels.slice(short ? -3 : -2).join('.');
}

const within = (host, zone) => (host === zone ? '@' : host.endsWith(`.${zone}`) ? host.slice(0, -zone.length - 1) : host);

/** A text in strings of at most 255 bytes, as zone files have it. @param {string} text */
const quoted = (text) => (text.match(/.{1,255}/g) ?? ['']).map((part) => `"${part.replace(/(["\\])/g, '\\$1')}"`).join(' ');

/** Records as lines of a zone file. @param {any[]} records */
export const zoneFile = (records) => records.map((r) => `${r.name}. 3600 IN ${r.type} ${r.type === 'TXT' ? quoted(r.value) : `${r.type === 'MX' ? `${r.priority ?? 10} ` : ''}${r.value}.`}`).join('\n');

/** Whether a record is valid: found now, or earlier if no name server answers now. @param {any} r */
const stands = (r) => r.live === 'found' || (r.live === 'unknown' && r.status === 'verified');

/** A host that may break after its dots. @param {string} host */
const broken = (host) => host.split('.').map((part, i) => html`${i > 0 && html`.<wbr />`}${part}`);

/** A long value by its beginning and end: a click copies all of it. @param {string} value */
export const short = (value) => (value.length > 96 ? `${value.slice(0, 64)}…${value.slice(-9)}` : value);

/** The status of a record: kind and text. @param {any} r */
function stateOf(r) {
	if (r.live === 'found') return ['verified', t('domain.found')];
	if (r.live === 'mismatch') return ['wrong', t('status.wrong')];
	if (r.live === 'missing') return [r.required ? 'missing' : 'pending', t('status.missing')];
	return stands(r) ? ['verified', t('domain.before')] : ['not_started', t('domain.unknown')];
}

/** The name of a record for readers. @param {any} r */
function kindOf(r) {
	if (r.record === 'SPF' && r.type === 'MX') return 'MX';
	return `${r.record === 'Tracking' ? t('domains.tracking') : r.record === 'Receiving' ? t('domain.receiving.title') : r.record === 'TLSRPT' ? t('domain.reports.tls.title') : r.record}, ${r.type}`;
}

/** What a record is for. @param {any} r */
function useOf(r) {
	if (r.dkim_key === 'next' || r.dkim_key === 'retired') return t(`domain.keys.${r.dkim_key}`);
	if (r.record === 'Receiving') return t('domain.receiving.record');
	return t(r.required ? 'domain.needed' : r.record === 'Tracking' ? 'domain.optional' : 'domain.recommended');
}

/** What is lost without a record: the key of its text. @param {any} r */
const lossOf = (r) => `domain.without.${r.dkim_key === 'next' || r.dkim_key === 'retired' ? r.dkim_key : r.record === 'SPF' && r.type === 'MX' ? 'MX' : r.record}`;

/** The found values of a record, unless the page's head shows them. @param {{of: any, said: any}} props */
function Found({ of: r, said }) {
	if (r.live === 'found') return html`<span class="muted">${r.inherited_from ? t('domain.inherited', { name: r.inherited_from }) : r.policy ? t('domain.policy', { policy: r.policy }) : t('domain.same')}</span>${r.detail && html`<p class="t12">${detailOf(r)}</p>`}`;
	return html`<span class="muted">${t(r.live === 'missing' ? 'domain.nothing' : r.live === 'mismatch' ? 'domain.other' : 'domain.unasked')}</span>${r.detail ? r.detail !== said && r.live !== 'unknown' && html`<p class="t12 break">${detailOf(r)}</p>` : r.live === 'missing' && html`<p class="t12">${t(lossOf(r))}</p>`}`;
}

/** The table of records. said is the text of the head. @param {{of: any, said?: any}} props */
export function Records({ of: d, said }) {
	const [hosts, setHosts] = useState('whole');
	const [file, showFile] = useState(false);
	const zone = zoneOf(d.name);
	const acts = html`<div class="row row--wrap"><span class="muted t12 hide-s">${t('domain.hosts')}</span><${Seg} label=${t('domain.hosts')} value=${hosts} onChange=${setHosts} options=${[['whole', t('domain.whole')], ['within', t('domain.within', { zone })]]} /><${Button} icon="code" aria-expanded=${String(file)} onClick=${() => showFile(!file)}>${t('domain.zone')}<//></div>`;
	return html`<${Section} title=${t('domain.records')} acts=${acts}>
	${file && html`<div class="stack"><${Code} name=${t('domain.zoneFor', { zone })} code=${zoneFile(d.records.filter((r) => !diverts(r)))} /></div>`}
	<table class="table table--top table--records table--fixed stack-s"><thead><tr><th class="w-state" scope="col">${t('domain.state')}</th><th class="w-rectype" scope="col">${t('domain.record')}</th><th scope="col">${t('domain.host')}</th><th scope="col">${t('domain.expected')}</th><th scope="col">${t('domain.foundNow')}</th></tr></thead><tbody>${d.records.map((r) => {
		const [kind, word] = stateOf(r);
		const host = hosts === 'whole' ? r.name : within(r.name, zone);
		return html`<tr key=${`${r.record} ${r.type} ${r.name}`}><td data-label=${t('domain.state')}><${Status} of=${kind} word=${word} /></td>
		<td data-label=${t('domain.record')}><span class="medium">${kindOf(r)}</span><br /><span class="muted t12">${useOf(r)}</span></td>
		<td data-label=${t('domain.host')}><${Copy} text=${host} show=${broken(host)} shown /></td>
		<td data-label=${t('domain.expected')}>${r.type === 'MX' && html`<span class="muted t12">${t('domain.priority')} </span><${Copy} text=${String(r.priority ?? 10)} shown /><br />`}<${Copy} text=${r.value} show=${r.type === 'TXT' ? short(r.value) : broken(r.value)} shown /></td>
		<td data-label=${t('domain.foundShort')}><${Found} of=${r} said=${said} /></td></tr>`;
	})}</tbody></table>
	${d.records.some((r) => r.record === 'SPF' && r.type === 'TXT' && r.value === 'v=spf1 ~all') && html`<div class="domain-note"><${Notice}>${t(relays.value?.length ? 'domain.spfUnknown' : 'domain.spfEmpty')}<//></div>`}<//>`;
}

/** Missing points of ten, then what is right. @param {any} d @returns {{id: string, points: number, kind: string}[]} */
export function readiness(d) {
	const find = (record, type) => d.records.find((r) => r.record === record && r.type === type);
	const row = (id, record, lost) => record && { id, points: stands(record) ? 0 : lost, kind: stands(record) ? 'good' : record.required && record.live !== 'unknown' ? 'bad' : 'warn' };
	const tracked = d.open_tracking || d.click_tracking;
	const host = d.records.find((r) => r.record === 'Tracking');
	return [
		row('dkim', find('DKIM', 'TXT'), 4), row('spf', find('SPF', 'TXT'), 3), row('mx', find('SPF', 'MX'), 1), row('dmarc', find('DMARC', 'TXT'), 1.5),
		tracked && (host ? row('tracking', host, 0.5) : { id: 'foreign', points: 0.5, kind: 'warn' }),
	].filter(Boolean).sort((a, b) => b.points - a.points);
}

/** The score of a domain and its parts. @param {{of: any}} props */
export function Readiness({ of: d }) {
	if (d.records.every((r) => r.live === 'unknown')) return null; // not checked yet
	const rows = readiness(d);
	const score = 10 - rows.reduce((sum, r) => sum + r.points, 0);
	const word = t(`domain.score.${score >= 9.5 ? 'ready' : score >= 7 ? 'close' : score >= 4 ? 'attention' : 'far'}`);
	const show = (n) => number(n, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
	return html`<${Section} title=${t('domain.readiness')} acts=${html`<span class="t13r"><span class="medium">${t('domain.of10', { score: show(score) })}</span> <span class="muted">${word}</span></span>`}>
	<ul class="items">${rows.map((r) => html`<li><${Icon} name=${r.kind === 'good' ? 'check' : 'alert'} class=${r.kind} /><span class="grow">${t(`domain.ready_${r.id}.${r.points ? 'lacks' : 'is'}`)}${r.points ? html` <span class="muted">· ${t(`domain.ready_${r.id}.fix`)}</span>` : null}</span><span class=${`num ${r.points ? '' : 'muted'}`}>${r.points ? `−${show(r.points)}` : ''}</span></li>`)}</ul><//>`;
}
