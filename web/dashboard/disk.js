// Disk usage: the file, its tables, the teams.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { number, percent, size } from './format.js';
import { say, t } from './i18n.js';
import { HealthSections } from './health.js';
import { Bones, Button, Failed, Head, Notice, Section, Time } from './ui/base.js';

/** The page. */
export default function Disk() {
	const disk = useGet('/disk', undefined, { team: null, every: 10 });
	return html`<${Head} title=${t('disk.title')} note=${disk.data?.looked_at && html`<span class="muted t12">${say('disk.looked', { when: html`<${Time} at=${disk.data.looked_at} as="clock" />` })}</span>`} /><${HealthSections} at="disk" />
	${disk.data ? html`<div class="page"><${Room} of=${disk.data} /></div>` : disk.error ? html`<${Failed} error=${disk.error} retry=${disk.reload} />` : html`<${Bones} rows=${4} />`}`;
}

const Stat = ({ label, value, note }) => html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value}</p><p class="stat-note">${note}</p></div>`;

function Room({ of }) {
	const sum = (rows) => rows.reduce((all, row) => all + row.bytes, 0) || 1;
	const tables = sum(of.tables);
	const teams = sum(of.teams);
	const [all, setAll] = useState(false);
	return html`<div class="section"></div><div class="stats stats--3"><${Stat} label=${t('disk.database')} value=${size(of.bytes)} note=${t('disk.within', { size: size(of.free_bytes) })} /><${Stat} label=${t('disk.wal')} value=${size(of.wal_bytes)} note=${t('disk.walNote')} /><${Stat} label=${t('disk.free')} value=${size(of.disk_free)} note=${t('disk.freeNote')} /></div>
	${!of.looked_at && html`<div class="under"><${Notice} icon="history">${t('disk.first')}<//></div>`}
	${of.teams.length > 0 && html`<${Section} title=${t('disk.label')}><table class="table table--fixed"><thead><tr><th scope="col">${t('disk.team')}</th><th scope="col" class="num w-num">${t('disk.size')}</th><th scope="col" class="num w-num hide-s">${t('disk.emails')}</th><th scope="col" class="hide-s w-team">${t('disk.kept')}</th><th scope="col" class="hide-s w-team">${t('disk.share')}</th></tr></thead><tbody>${of.teams.map((one) => html`<tr key=${one.id}><td class="cell-cut"><bdi>${one.team}</bdi>${one.old.bytes > 0 && html` <span class="muted">${t('disk.old', { size: size(one.old.bytes) })}</span>`}<span class="cell-sub">${t('disk.nEmails', { n: one.emails })}</span></td><td class="num">${size(one.bytes)}</td><td class="num hide-s">${number(one.emails)}</td><td class="hide-s muted">${kept(one)}</td><td class="hide-s"><${Share} of=${one.bytes / teams} /></td></tr>`)}</tbody></table><//>`}
	${of.tables.length > 0 && html`<${Section} title=${t('disk.tables')}><table class="table table--fixed"><thead><tr><th scope="col">${t('disk.table')}</th><th scope="col" class="num w-num">${t('disk.size')}</th><th scope="col" class="hide-s w-team">${t('disk.share')}</th></tr></thead><tbody>${(all ? of.tables : of.tables.slice(0, 12)).map((one) => html`<tr key=${one.table}><td class="cell-cut mono t12">${one.table}</td><td class="num">${size(one.bytes)}</td><td class="hide-s"><${Share} of=${one.bytes / tables} /></td></tr>`)}</tbody></table>${!all && of.tables.length > 12 && html`<div class="table-foot"><${Button} onClick=${() => setAll(true)}>${t('disk.allTables', { n: of.tables.length })}<//></div>`}<//>`}`;
}

/** How long mail of a team is kept. @param {any} one */
const kept = (one) => {
	const word = (span) => (span === '0' ? t('disk.forever') : span);
	return one.keep_content === one.keep_emails ? word(one.keep_emails) : t('disk.keptBoth', { content: word(one.keep_content), emails: word(one.keep_emails) });
};

/** A part of 1, drawn. @param {{of: number}} props */
const Share = ({ of }) => html`<span class="row"><svg class="meter grow" aria-hidden="true" preserveAspectRatio="none"><rect class="meter-ground" width="100%" height="4" rx="2" /><rect class="meter-fill" width=${`${(of * 100).toFixed(1)}%`} height="4" rx="2" /></svg><span class="muted t12 num share-num">${percent(of, 0)}</span></span>`;
