// The checks before a broadcast is sent: its score, and a test mail.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { me } from './state.js';
import { Bones, Button, Failed, Icon, Input, useEscape } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';
import { usePost } from './plan.js';

/** Sends a test to a few people; path is the operation. @param {string} path */
export const testMail = (path, language = '') => dialog((close) => html`<${Test} path=${path} language=${language} close=${close} />`);

function Test({ path, language, close }) {
	const [to, setTo] = useState(me.value?.email ?? '');
	const [wrong, setWrong] = useState('');
	const send = async () => {
		try {
			const { data } = await api.post(path, { to: to.split(/[\s,;]+/).filter(Boolean), ...(language ? { language } : {}) });
			close();
			toast(t('composer.testSent', { n: data.length }), { href: base + encoded`/emails/${data[0].id}`, word: t('composer.testSee') });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('composer.test')} onSubmit=${send} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('composer.testAct')}<//>`}>
		<${Input} label=${t('composer.testTo')} hint=${t('composer.testHint')} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`;
}

/** The findings that lower the score. @param {{score: any, more?: any}} props */
export const Penalties = ({ score, more }) => html`<ul class="items">${score.penalties.map((p) => html`<li><${Icon} name=${'alert'} class=${p.severity === 'critical' ? 'bad' : 'warn'} /><span class="grow break">${p.message}</span><span class="num">−${number(p.points)}</span></li>`)}
	${!score.penalties.length && html`<li><${Icon} name="check" class="good" /><span class="grow">${t('review.noPenalties')}</span></li>`}${more}</ul>`;

/** The tags of other services in a mail. @param {{tags: any[]}} props */
export const Tags = ({ tags }) => tags.map((tag) => html`<li><${Icon} name=${'alert'} class=${tag.refused ? 'bad' : 'warn'} /><span class="grow break">${t(tag.refused ? 'review.unfilledTag' : 'review.maybeTag', tag)}</span></li>`);

/** The checks next to the editor. @param {{draft: any, close: () => void}} props */
export function Checks({ draft, close }) {
	useEscape(close);
	const plan = usePost(encoded`/broadcasts/${draft.value.id}/plan`, undefined, draft.saved);
	return html`<section aria-label=${t('composer.checks')}><div class="bench-head"><h2 class="t14">${t('composer.checks')}</h2>${plan.data && html`<span><span class="medium">${number(plan.data.score.score)}</span> <span class="muted">${t(`bands.${plan.data.score.band}`)}</span></span>`}<span class="push"></span><${Button} icon="x" kind="quiet" label=${t('ui.close')} onClick=${close} /></div>
	<div class="bench-pad">${plan.error ? html`<${Failed} error=${plan.error} retry=${plan.reload} title=${t('composer.notYet')} />` : plan.data ? html`<${Penalties} score=${plan.data.score} more=${html`<${Tags} tags=${plan.data.unfilled_tags} />`} />` : html`<${Bones} rows=${4} />`}</div></section>`;
}

