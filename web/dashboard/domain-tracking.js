// The tracking of a domain: switches of opens and clicks, and the name under which links are.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { mayAdmin } from './state.js';
import { Button, Check, Input, Section } from './ui/base.js';
import { attempt, toast } from './ui/float.js';

/** @param {{of: any, changed: (domain: any) => void}} props */
export function Tracking({ of: d, changed }) {
	const [name, setName] = useState(d.tracking_subdomain ?? '');
	const [wrong, say] = useState('');
	const patch = async (body) => changed(await api.patch(encoded`/domains/${d.id}`, body));
	const turn = (field, on) => attempt(async () => {
		await patch({ [field]: on });
		toast(t(`domain.${field}_${on ? 'on' : 'off'}`), { undo: () => attempt(() => patch({ [field]: !on })) });
	});
	const save = async () => {
		try {
			await patch({ tracking_subdomain: name.trim() || null });
			say('');
			toast(t(name.trim() ? 'domain.trackingSaved' : 'domain.trackingCleared'));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
		}
	};
	const fixed = !mayAdmin.value;
	return html`<${Section} title=${t('domain.measure')}><div class="stack stack--2">
		<${Check} kind="switch" label=${t('domain.openTracking')} checked=${d.open_tracking} disabled=${fixed} onChange=${(on) => turn('open_tracking', on)} /><p class="t13r ink2 prose">${t('domain.openText')}</p>
		<${Check} kind="switch" label=${t('domain.clickTracking')} checked=${d.click_tracking} disabled=${fixed} onChange=${(on) => turn('click_tracking', on)} /><p class="t13r ink2 prose">${t('domain.clickText')}</p>
		${fixed && html`<p class="t12 muted">${t('domain.askAdmin')}</p>`}</div><//>
	<${Section} title=${t('domain.subdomain')}><form class="stack" onSubmit=${(e) => {
		e.preventDefault();
		save();
	}}><${Input} label=${t('domain.subdomainLabel', { name: d.name })} hint=${name.trim() ? t('domain.subdomainAs', { host: `${name.trim()}.${d.name}` }) : t('domain.subdomainNone', { host: location.host })} value=${name} onInput=${setName} error=${wrong} placeholder="links" disabled=${fixed} autocomplete="off" spellcheck="false" />
		${!fixed && html`<${Button} type="submit" disabled=${name.trim() === (d.tracking_subdomain ?? '')}>${t('ui.save')}<//>`}</form><//>`;
}
