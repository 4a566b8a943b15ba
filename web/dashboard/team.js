// The members and invitations of a team; its settings are in team-settings.js.
import { html, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { about, Said, useForm } from './gate.js';
import { encoded } from './paths.js';
import { base, place } from './router.js';
import { me, mayAdmin, membership, team } from './state.js';
import { Settings } from './team-settings.js';
import { Button, CopyButton, Empty, Head, Input, Section, Sections, Select, Status, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu } from './ui/float.js';
import { Table } from './ui/list.js';

/** The tabs. @param {{at: string}} props */
export const TeamSections = ({ at }) => html`<${Sections} label=${t('team.sections')} at=${base + at} links=${[[t('team.people'), `${base}/team`], [t('team.settings'), `${base}/team?part=settings`], [t('team.audit'), `${base}/audit`]]} />`;

/** What is shown to others than owners and admins; null for them. */
export function closed() {
	if (!team.value) return html`<${Empty} icon="teams" title=${t('team.none')}>${t('team.noneText')}<//>`;
	if (mayAdmin.value) return null;
	return html`<${Empty} icon="lock" title=${t('team.closed')}>${t('team.closedText', { team: membership.value?.name ?? '', role: t(`roles.${membership.value?.role ?? 'member'}`) })}<//>`;
}

/** The roles that the person may hand out. */
const grants = () => (membership.value?.role === 'owner' ? ['owner', 'admin', 'member'] : ['admin', 'member']);
const roleOptions = () => grants().map((role) => [role, t(`roles.${role}`)]);

/** The page. */
export default function Team() {
	const part = place.value.query.get('part');
	const barred = closed();
	const [stamp, setStamp] = useState(0);
	const invite = async (email) => {
		if (await dialog((close) => html`<${Invite} close=${close} email=${email} />`)) setStamp((n) => n + 1);
	};
	return html`<${Head} title=${t('team.title')}>${!barred && part !== 'settings' && html`<${Button} kind="primary" icon="plus" onClick=${() => void invite('')}>${t('team.invite')}<//>`}<//>
	<${TeamSections} at=${part === 'settings' ? '/team?part=settings' : '/team'} />${barred ?? (part === 'settings' ? html`<${Settings} />` : html`<${People} stamp=${stamp} invite=${invite} />`)}`;
}

function People({ stamp, invite }) {
	const list = useList('/members');
	const columns = [
		{ name: t('team.person'), class: 'cell-name cell-cut', cell: (m) => html`<bdi class="medium">${m.name || m.email}</bdi>${m.id === me.value.id && html` <span class="badge">${t('team.you')}</span>`}<span class="cell-sub">${m.name && html`<bdi>${m.email}</bdi> `}${t(`roles.${m.role}`)}</span>` },
		{ name: t('signIn.email'), class: 'cell-cut hide-s', cell: (m) => html`<bdi class="muted">${m.email}</bdi>` },
		{ name: t('team.role'), class: 'w-state hide-s', cell: (m) => t(`roles.${m.role}`) },
		{ name: t('team.factor'), class: 'w-status', cell: (m) => html`<${Status} of=${m.second_factor ? 'ok' : 'neutral'} word=${t(m.second_factor ? 'team.on' : 'team.off')} />` },
		{ name: t('team.seen'), class: 'w-age num drop-2', cell: (m) => (m.last_seen_at ? html`<${Time} at=${m.last_seen_at} />` : html`<span class="muted">${t('team.never')}</span>`) },
		{ name: t('ui.acts'), hide: true, class: 'w-acts num', cell: (m) => html`<${Menu} kind="quiet" label=${`${t('ui.acts')}: ${m.name || m.email}`} items=${acts(m, list)} />` },
	];
	return html`<${Table} list=${list} columns=${columns} label=${t('team.people')} empty=${null} /><${Invitations} key=${stamp} invite=${invite} />`;
}

/** The actions on a member. @param {any} m @param {any} list */
function acts(m, list) {
	const mine = m.id === me.value.id;
	const may = grants().includes(m.role);
	return [
		...(mine || !may ? [] : grants().map((role) => ({ name: t(`roles.${role}`), checked: role === m.role, run: () => role !== m.role && setRole(m, role, list) }))),
		mine || !may ? undefined : null,
		may && { icon: mine ? 'left' : 'trash', name: t(mine ? 'team.leave' : 'team.remove'), danger: true, run: () => remove(m, list) },
		!may && { name: t('team.ownersOnly'), disabled: true, run: () => {} },
	].filter((item) => item !== undefined);
}

async function setRole(m, role, list) {
	const set = async (to) => {
		await api.patch(encoded`/members/${m.id}`, { role: to });
		await list.reload();
	};
	const before = m.role;
	await attempt(() => set(role), t('team.roleDone', { name: m.name || m.email, role: t(`roles.${role}`) }), { undo: () => attempt(() => set(before)) });
}

async function remove(m, list) {
	const mine = m.id === me.value.id;
	const words = { name: m.name || m.email, team: membership.value.name };
	if (!(await confirm(mine ? { title: t('team.leaveTitle', words), text: t('team.leaveText'), act: t('team.leave') } : { title: t('team.removeTitle', words), text: t('team.removeText', words), act: t('team.remove') }))) return;
	const gone = await attempt(async () => {
		const answer = await api.del(encoded`/members/${m.id}`);
		await list.reload();
		return answer;
	}, mine ? undefined : t('team.removed', words));
	if (gone) await keysLeft(words.name, gone.keys);
}

/** Names the API keys that a removed person made and that still work. @param {string} name @param {any[]} keys */
export const keysLeft = async (name, keys) => {
	if (!keys.length) return;
	await dialog((close) => html`<${DialogBody} title=${t('team.keysLeft', { name })} onSubmit=${() => close()} acts=${html`<${Button} type="submit" kind="primary">${t('team.done')}<//>`}><p>${t('team.keysLeftText', { name })}</p><ul class="items">${keys.map((k) => html`<li key=${k.id}><bdi class="medium">${k.name}</bdi> <bdi class="muted">${k.team}</bdi></li>`)}</ul><//>`);
};

function Invitations({ invite }) {
	const list = useList('/invitations');
	const takeBack = (i) => attempt(async () => {
		await api.del(encoded`/invitations/${i.id}`);
		await list.reload();
	}, t('team.takenBack', { email: i.email }));
	const columns = [
		{ name: t('signIn.email'), class: 'cell-name cell-cut', cell: (i) => html`<bdi>${i.email}</bdi><span class="cell-sub">${t(`roles.${i.role}`)}</span>` },
		{ name: t('team.role'), class: 'w-state hide-s', cell: (i) => t(`roles.${i.role}`) },
		{ name: t('team.invited'), class: 'w-age num hide-s', cell: (i) => html`<${Time} at=${i.created_at} />` },
		{ name: t('team.expires'), class: 'w-age num', cell: (i) => html`<${Time} at=${i.expires_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'w-acts num', cell: (i) => html`<${Menu} kind="quiet" label=${`${t('ui.acts')}: ${i.email}`} items=${[{ icon: 'link', name: t('team.again'), run: () => invite(i) }, { icon: 'x', name: t('team.takeBack'), danger: true, run: () => takeBack(i) }]} />` },
	];
	return html`<div class="page page--invited"><${Section} title=${t('team.invitations')}>${list.page && !list.rows.length && html`<p class="muted t13r">${t('team.noInvitations')}</p>`}<//></div>
	<${Table} list=${list} columns=${columns} label=${t('team.invitations')} empty=${null} />`;
}

/** Invites somebody, then shows the link. Closes with whether somebody was invited. */
function Invite({ close, email: before }) {
	const [email, setEmail] = useState(before?.email ?? '');
	const [role, setRole] = useState(grants().includes(before?.role) ? before.role : 'member');
	const [made, setMade] = useState(/** @type {any} */ (null));
	const form = useForm(async () => setMade(await api.post('/invitations', { email: email.trim(), role })));
	if (made) {
		return html`<${DialogBody} title=${t('team.linkTitle', { email: email.trim() })} onSubmit=${() => close(true)} acts=${html`<${Button} type="submit" kind="primary">${t('team.done')}<//>`}>
		<div class="secret"><code>${made.url}</code><${CopyButton} text=${made.url} /></div><p>${t('team.linkOnce')}${made.mailed && ` ${t('team.linkMailed', { email: made.email })}`}</p><//>`;
	}
	return html`<${DialogBody} title=${t('team.inviteTitle')} onSubmit=${form.submit} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" busy=${form.busy}>${t('team.send')}<//>`}>
	<${Said} form=${form} fields=${['email', 'role']} />
	<${Input} label=${t('team.email')} type="email" autocomplete="off" required value=${email} onInput=${setEmail} error=${about(form.error, 'email')} autofocus />
	<${Select} label=${t('team.role')} value=${role} onChange=${setRole} options=${roleOptions()} hint=${t(`team.roleHint.${role}`)} error=${about(form.error, 'role')} /><//>`;
}
