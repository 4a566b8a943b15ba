// The audit log of the team or, for operators, of all teams.
import { html } from './lib/core.js';
import { useList } from './api.js';
import { exact } from './format.js';
import { t } from './i18n.js';
import { place, setQuery } from './router.js';
import { mayAdmin, me, team } from './state.js';
import { closed, TeamSections } from './team.js';
import { Button, Copy, Empty, Facts, Head, Id, Seg, Select, Time } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The logged actions. */
const actions = ['backup.create', 'backup.restore', 'broadcast.cancel', 'broadcast.pause', 'broadcast.resume', 'broadcast.send', 'broadcast.unschedule', 'domain.create', 'domain.delete', 'domain.forget_dns', 'domain.name_sources', 'domain.publish', 'domain.remember_dns', 'domain.rotate_dkim', 'domain.trust', 'domain.update', 'domain.verify', 'export', 'import', 'import.create', 'ingest.rotate', 'invitation.create', 'invitation.delete', 'key.create', 'key.delete', 'key.update', 'master_key.retire', 'master_key.rotate', 'member.add', 'member.remove', 'member.update', 'passkey.add', 'passkey.remove', 'password.change', 'plan.set', 'queue.drop', 'queue.hold', 'queue.move', 'queue.release', 'queue.requeue', 'queue.retry', 'recovery_codes.create', 'relay.add', 'relay.pause', 'relay.remove', 'relay.resume', 'report.import', 'route.create', 'route.delete', 'route.update', 'session.end', 'settings.update', 'sign_in.fail', 'suppression.remove', 'team.create', 'team.delete', 'team.rename', 'team.resume', 'team.retention', 'team.suspend', 'team.update', 'totp.off', 'totp.on', 'user.create', 'user.delete', 'user.link', 'user.rename', 'user.reset', 'user.update', 'webhook.create', 'webhook.delete', 'webhook.replay', 'webhook.rotate_secret', 'webhook.test', 'webhook.update'];

/** The page. */
export default function Audit() {
	const all = me.value.operator && (place.value.query.get('scope') === 'all' || !team.value || !mayAdmin.value);
	const barred = all ? null : closed();
	return html`<${Head} title=${t('audit.title')} /><${TeamSections} at="/audit" />${barred ?? html`<${Log} all=${all} />`}`;
}

const midnight = (day) => (day ? new Date(`${day}T00:00:00`).toISOString() : undefined);

function Log({ all }) {
	const q = place.value.query;
	const get = (name) => q.get(name) ?? undefined;
	const query = { action: get('action'), actor: get('actor'), target: get('target'), created_after: midnight(get('after')), created_before: midnight(get('before')) };
	const asked = all ? { team: null } : {};
	const list = useList('/audit-logs', query, asked);
	const filtered = Object.values(query).some(Boolean);
	const columns = [
		{ name: t('audit.when'), class: 'w-when hide-s', cell: (e) => html`<${Time} at=${e.created_at} as="clock" />` },
		{ name: t('audit.who'), class: 'cell-name w-to cell-cut', cell: (e) => html`<${Who} of=${e.actor} /><span class="cell-sub"><${Time} at=${e.created_at} as="clock" /> · ${e.action}</span>` },
		{ name: t('audit.what'), class: 'w-team hide-s', cell: (e) => html`<span class="mono t12">${e.action}</span>` },
		{ name: t('audit.change'), class: 'cell-cut', cell: (e) => html`<span class="muted">${changes(e).map(([name, before, after]) => `${name}: ${before === undefined ? '' : `${before} → `}${after ?? '–'}`).join(', ')}</span>` },
		{ name: t('audit.details'), hide: true, class: 'w-acts num', cell: (e) => html`<${Button} icon="right" kind="quiet" label=${`${t('audit.details')}: ${e.action}`} onClick=${() => details(e, all)} />` },
	];
	const clear = () => setQuery({ action: null, actor: null, target: null, after: null, before: null });
	const empty = filtered
		? html`<${Empty} icon="search" title=${t('audit.emptyFilter')} act=${html`<${Button} onClick=${clear}>${t('audit.clear')}<//>`}>${t('audit.emptyFilterText')}<//>`
		: html`<${Empty} icon="history" title=${t('audit.emptyTitle')}>${t('audit.emptyText')}<//>`;
	return html`<div class="tools tools--wrap tools--top">${me.value.operator && team.value && mayAdmin.value && html`<${Seg} label=${t('audit.scope')} value=${all ? 'all' : ''} onChange=${(scope) => setQuery({ scope })} options=${[['', t('audit.this')], ['all', t('audit.all')]]} />`}
	<${Select} bare label=${t('audit.action')} value=${get('action') ?? ''} onChange=${(action) => setQuery({ action })} options=${[['', t('audit.anything')], ...actions.map((a) => [a, a])]} />
	${query.actor && html`<${Chip} name=${t('audit.actor')} value=${list.rows.find((e) => e.actor.id === query.actor)?.actor.name ?? query.actor} clear=${() => setQuery({ actor: null })} />`}${query.target && html`<${Chip} name=${t('audit.onTarget')} value=${query.target} clear=${() => setQuery({ target: null })} />`}
	<${Day} name=${t('audit.after')} value=${get('after')} onChange=${(after) => setQuery({ after })} /><${Day} name=${t('audit.before')} value=${get('before')} onChange=${(before) => setQuery({ before })} />
	<span class="push"></span><${Csv} path="/audit-logs" query=${query} name="audit-log" ...${asked} /></div>
	<${Table} list=${list} columns=${columns} label=${t('audit.label')} empty=${empty} />`;
}

const Day = ({ name, value, onChange }) => html`<label class="day t12 muted">${name} <input type="date" class="input" value=${value ?? ''} onChange=${(e) => onChange(e.currentTarget.value)} /></label>`;
const Chip = ({ name, value, clear }) => html`<span class="token"><b>${name}</b> <span class="cut">${value}</span><${Button} icon="x" kind="quiet" label=${t('audit.clear')} onClick=${clear} /></span>`;

/** The author of a change. @param {{of: any}} props */
const Who = ({ of }) => html`<bdi>${of.name ?? t('audit.gone')}</bdi> <span class="muted">${of.type === 'person' ? '' : t(`audit.types.${of.type}`)}</span>`;

const shown = (value) => (value === null || value === undefined ? undefined : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** Fields that changed: [name, before, after]. @param {any} e */
function changes(e) {
	const names = [...new Set([...Object.keys(e.before ?? {}), ...Object.keys(e.after ?? {})])];
	return names.map((name) => [name, shown(e.before?.[name]), shown(e.after?.[name])]).filter(([, before, after]) => before !== after);
}

/** @param {any} e @param {boolean} all */
const details = (e, all) => dialog((close) => html`<${Details} of=${e} all=${all} close=${close} />`);

function Details({ of: e, all, close }) {
	const only = (parts) => {
		close();
		setQuery(parts);
	};
	const narrow = (parts, word) => html` <${Button} icon="search" kind="quiet" label=${word} onClick=${() => only(parts)} />`;
	return html`<${DialogBody} title=${html`<span class="mono">${e.action}</span>`} onSubmit=${() => close()} acts=${html`<${Button} type="submit">${t('ui.close')}<//>`}>
	<${Facts} pairs=${[[t('audit.when'), exact(e.created_at)], [t('audit.who'), html`<${Who} of=${e.actor} />${(e.actor.id ?? e.actor.name) && narrow({ actor: e.actor.id ?? e.actor.name }, t('audit.onlyActor'))}`], [t('audit.address'), e.address && html`<${Copy} text=${e.address} />`], [t('audit.target'), e.target && html`<span class="row"><${Id} of=${e.target} />${narrow({ target: e.target }, t('audit.onlyTarget'))}</span>`], [t('audit.team'), all && e.team_id ? html`<${Id} of=${e.team_id} />` : undefined]]} />
	${changes(e).length > 0 && html`<table class="table table--top"><thead><tr><th scope="col">${t('audit.change')}</th><th scope="col">${t('audit.was')}</th><th scope="col">${t('audit.is')}</th></tr></thead><tbody>${changes(e).map(([name, before, after]) => html`<tr><td class="mono t12">${name}</td><td class="break"><bdi>${before ?? '–'}</bdi></td><td class="break"><bdi>${after ?? '–'}</bdi></td></tr>`)}</tbody></table>`}<//>`;
}
