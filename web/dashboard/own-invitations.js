// Invitations of the signed-in person.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { t } from './i18n.js';
import { arrive } from './gate.js';
import { encoded } from './paths.js';
import { Button, Section } from './ui/base.js';
import { attempt } from './ui/float.js';

/** Nothing where no team asks. */
export function OwnInvitations() {
	const list = useGet('/users/me/invitations', {}, { team: null });
	const rows = list.data?.data ?? [];
	if (!rows.length) return null;
	const path = (i) => encoded`/users/me/invitations/${i.id}`;
	const join = (i) => attempt(async () => {
		await api.post(encoded`/users/me/invitations/${i.id}/accept`, undefined, { team: null });
		await arrive();
		await list.reload();
	}, t('invitation.joined', { team: i.team }));
	const decline = (i) => attempt(async () => {
		await api.del(path(i), undefined, { team: null });
		await list.reload();
	}, t('invitation.declined', { team: i.team }));
	return html`<${Section} title=${t('team.invitations')}><ul class="items">${rows.map((i) => html`<li key=${i.id} class="row"><span>${t('invitation.asks', { team: i.team, role: t(`roles.${i.role}`) })}</span><${Button} kind="primary" onClick=${() => join(i)}>${t('invitation.act')}<//><${Button} kind="quiet" onClick=${() => decline(i)}>${t('invitation.decline')}<//></li>`)}</ul><//>`;
}
