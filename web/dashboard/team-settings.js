// The settings of a team: its name and brand, whether it demands a second factor, how long mail is kept.
import { html, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { t } from './i18n.js';
import { Brand } from './brand.js';
import { about, arrive, Said, useForm } from './gate.js';
import { base } from './router.js';
import { PagesHost } from './team-pages-host.js';
import { me } from './state.js';
import { Bones, Button, Check, Failed, Input, Section, Select } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';

/** The part of the team's page. */
export function Settings() {
	const settings = useGet('/team');
	if (settings.error && !settings.data) return html`<${Failed} error=${settings.error} retry=${settings.reload} />`;
	if (!settings.data) return html`<${Bones} rows=${3} />`;
	const patch = async (change) => {
		settings.set(await api.patch('/team', change));
		await arrive();
	};
	return html`<div class="page"><${Name} of=${settings.data} patch=${patch} /><${Brand} key=${settings.data.name} />${settings.data.pages_host !== undefined && html`<${PagesHost} of=${settings.data} patch=${patch} />`}<${Access} of=${settings.data} patch=${patch} />${settings.data.reply_addresses !== undefined && html`<${Replies} of=${settings.data} patch=${patch} />`}<${Retention} of=${settings.data} patch=${patch} /></div>`;
}

function Name({ of, patch }) {
	const [name, setName] = useState(of.name);
	const form = useForm(() => patch({ name: name.trim() }));
	const same = name.trim() === of.name;
	return html`<${Section} title=${t('team.name')}><form class="fields" onSubmit=${(e) => {
		e.preventDefault();
		form.submit();
	}}><${Said} form=${form} fields=${['name']} /><${Input} label=${t('team.name')} required maxlength="100" value=${name} onInput=${setName} error=${about(form.error, 'name')} /><${Button} type="submit" kind="primary" disabled=${same} busy=${form.busy}>${t('team.save')}<//></form><//>`;
}

function Access({ of, patch }) {
	const members = useList('/members', {}, { limit: 100 });
	const without = members.rows.filter((m) => !m.second_factor).length;
	const mine = me.value.second_factor.length > 0;
	const note = of.second_factor_required || mine ? (without ? t('team.requiredText', { n: without }) : t('team.requiredAll')) : t('team.requiredFirst');
	return html`<${Section} title=${t('team.access')}><${Check} kind="switch" label=${t('team.required')} checked=${of.second_factor_required} disabled=${!mine && !of.second_factor_required} onChange=${(on) => attempt(() => patch({ second_factor_required: on }), t('team.saved'), { undo: () => attempt(() => patch({ second_factor_required: !on })) })} />
	<p class="muted t12">${note} ${!mine && html`<a class="link" href=${`${base}/account?part=sign-in`}>${t('team.toAccount')}</a>`}</p><//>`;
}

/** Whether sent emails get reply addresses of their own. @param {{of: any, patch: (change: any) => Promise<any>}} props */
function Replies({ of, patch }) {
	const set = (on) => patch({ reply_addresses: on });
	return html`<${Section} title=${t('team.replies')}><${Check} kind="switch" label=${t('team.replyAddresses')} checked=${of.reply_addresses} onChange=${(on) => attempt(() => set(on), t('team.saved'), { undo: () => attempt(() => set(!on)) })} />
	<p class="muted t12 prose">${t('team.replyAddressesText')}</p><//>`;
}

const spans = ['7d', '30d', '90d', '1y'];

function Retention({ of, patch }) {
	const word = (span) => ({ '': t('team.asServer'), 0: t('team.forever') })[span] ?? t('team.kept', { span: spanWord(span) });
	const line = (field, label) => {
		const now = of[field] ?? '';
		const options = [...new Set(['', '0', ...spans, now])].map((span) => [span, word(span)]);
		const pick = async (span) => {
			const shorter = span !== '' && span !== '0';
			if (shorter && !(await confirm({ title: t('team.shorterTitle', { span: spanWord(span) }), text: t('team.shorterText'), act: t('team.shorter') }))) {
				settle((n) => n + 1);
				return;
			}
			await attempt(() => patch({ [field]: span === '' ? null : span }), t('team.saved'), shorter ? undefined : { undo: () => attempt(() => patch({ [field]: now || null })) });
			settle((n) => n + 1);
		};
		return html`<${Select} key=${`${field}${stamp}`} label=${label} value=${now} options=${options} onChange=${pick} />`;
	};
	const [stamp, settle] = useState(0); // a choice that was not made is drawn as it was
	return html`<${Section} title=${t('team.retention')}><p class="ink2 t13r prose">${t('team.retentionText')}</p><div class="fields fields--under">${line('keep_content', t('team.content'))}${line('keep_emails', t('team.emails'))}</div><//>`;
}

/** "30d" as text. @param {string} span */
function spanWord(span) {
	const m = /^(\d+)(h|d|w|y)$/.exec(span);
	return m ? t(`team.span.${m[2]}`, { n: Number(m[1]) }) : span;
}
