// The form of a relay, shared by the setup and by the page of relays: providers fill in
// host, port and limits.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { about } from './gate.js';
import { providers } from './providers.js';
import { Icon, Input, Select } from './ui/base.js';

/** An empty form. */
export const emptyRelay = { provider: '', host: '', port: '587', user: '', password: '', security: 'starttls', rate: '', daily: '' };

/** The URL of a relay for the server. @param {any} v */
export function relayURL(v) {
	const host = v.host.trim();
	const who = v.user ? `${encodeURIComponent(v.user.trim())}:${encodeURIComponent(v.password)}@` : '';
	const options = [v.security === 'off' && 'tls=off', v.rate.trim() && `rate=${encodeURIComponent(v.rate.trim())}`, v.daily.trim() && `daily=${encodeURIComponent(v.daily.trim())}`].filter(Boolean).join('&');
	return `${v.security === 'tls' ? 'smtps' : 'smtp'}://${who}${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${v.port.trim()}${options && `?${options}`}`;
}

/**
 * The fields. set gets the changes. reports: link to where the provider reports bounces to.
 * @param {{values: any, set: (some: any) => void, error?: any, reports?: boolean}} props
 */
export function RelayFields({ values, set, error, reports }) {
	const of = providers[values.provider];
	const choose = (id) => {
		const to = providers[id];
		set({ provider: id, host: to?.hosts[0]?.[0] ?? '', port: '587', security: 'starttls', user: to?.user ?? '' });
	};
	const secure = (security) => set({ security, port: { tls: '465', starttls: '587', off: '25' }[security] ?? values.port });
	return html`<${Select} label=${t('setup.relay.provider')} value=${values.provider} onChange=${choose} options=${[['', t('setup.relay.own')], ...Object.entries(providers).map(([id, p]) => [id, p.name])]} hint=${of && reports && html`<a href=${`${base}/operator/reports#${values.provider}`}>${t('reports.title')}</a>`} />
	${of?.hosts.length > 1 ? html`<${Select} label=${t('setup.relay.area')} value=${values.host} onChange=${(host) => set({ host })} options=${of.hosts} />`
		: html`<${Input} label=${t('setup.relay.host')} mono required autocapitalize="none" spellcheck=${false} autocomplete="off" placeholder="smtp.example.com" value=${values.host} onInput=${(host) => set({ host })} />`}
	<div class="row row--top"><${Select} label=${t('setup.relay.security')} value=${values.security} onChange=${secure} options=${['starttls', 'tls', 'off'].map((id) => [id, t(`setup.relay.${id}`)])} /><${Input} label=${t('setup.relay.port')} class="setup-port" mono inputmode="numeric" required value=${values.port} onInput=${(port) => set({ port })} error=${about(error, 'port')} /></div>
	<${Input} label=${t('setup.relay.user')} mono autocomplete="off" autocapitalize="none" spellcheck=${false} value=${values.user} onInput=${(user) => set({ user })} hint=${t(values.provider ? `setup.relay.userOf.${values.provider}` : 'setup.relay.userHint')} />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="new-password" value=${values.password} onInput=${(password) => set({ password })} hint=${t('setup.relay.passwordHint')} />
	<details class="fold"><summary><${Icon} name="right" />${t('setup.relay.limits')}</summary><div class="stack stack--2"><${Input} label=${t('setup.relay.rate')} inputmode="decimal" value=${values.rate} onInput=${(rate) => set({ rate })} hint=${t('setup.relay.rateHint')} /><${Input} label=${t('setup.relay.daily')} inputmode="numeric" value=${values.daily} onInput=${(daily) => set({ daily })} hint=${t('setup.relay.dailyHint')} /></div></details>`;
}
