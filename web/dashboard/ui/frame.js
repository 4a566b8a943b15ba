// Mail as its recipient sees it, in a sandboxed frame.
import { html, useEffect, useState } from '../lib/core.js';
import { api, ApiError } from '../api.js';
import { t } from '../i18n.js';
import { Button, Failed, Icon, Seg } from './base.js';

/**
 * @param {{of: string, body?: any, remote?: boolean, stamp?: any, bench?: boolean, lead?: any, foot?: any, onAnswer?: (answer: any) => void}} props of is the operation that answers {url, remote_images}
 * by POST; body goes along. stamp: asks anew when it changes. bench: stands beside an editor; lead stands first in its head, foot below.
 */
export function Paper({ of, body, stamp, bench = false, lead, foot, onAnswer }) {
	const [device, setDevice] = useState('desktop');
	const [scheme, setScheme] = useState('light');
	const [images, setImages] = useState(false);
	const [shown, setShown] = useState(/** @type {any} */ ({}));
	useEffect(() => {
		let current = true;
		api.read(of, { ...body, ...(images ? { images: true } : {}) }).then((answer) => {
			if (!current) return;
			setShown(answer);
			onAnswer?.(answer);
		}).catch((error) => {
			if (!(error instanceof ApiError)) throw error;
			if (current) setShown({ error });
		});
		return () => {
			current = false;
		};
	}, [of, images, stamp]);
	return html`<section class=${bench ? '' : 'sheet wide'} data-device=${device} data-scheme=${scheme} aria-label=${t('frame.label')}>
	<div class=${bench ? 'bench-head' : 'sheet-head'}>${lead ?? html`<span class="muted t12">${images ? t('frame.loaded') : t('frame.none')}</span>`}${!images && shown.remote_images > 0 && html`<${Button} kind="quiet" onClick=${() => setImages(true)}>${t('frame.load', { n: shown.remote_images })}<//>`}<span class="push"></span>
	<${Seg} label=${t('frame.width')} value=${device} onChange=${setDevice} options=${[['phone', t('frame.phone'), 'phone'], ['desktop', t('frame.desktop'), 'desktop']]} />
	<${Seg} label=${t('frame.scheme')} value=${scheme} onChange=${setScheme} options=${[['light', t('frame.light'), 'sun'], ['dark', t('frame.dark'), 'moon']]} /></div>
	${scheme === 'dark' && html`<p class="sheet-note"><${Icon} name="info" />${t('frame.darkNote')}</p>`}
	<div class="sheet-body">${shown.error ? html`<${Failed} error=${shown.error} />` : html`<div class="paper">${shown.url && html`<iframe sandbox="" height=${bench ? undefined : Math.min(560, Math.max(120, Math.round((shown.height ?? 560) * (device === 'phone' ? 1.4 : 1))))} src=${shown.url} title=${t('frame.title')}></iframe>`}${shown.url === null && html`<p class="paper-none">${t('frame.tooLarge')}</p>`}</div>`}</div>${foot}</section>`;
}
