// Acts on a relay: pause, change, remove.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { nameOf, only } from './relays-lights.js';
import { base, go } from './router.js';
import { Button, Input } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu, toast } from './ui/float.js';

/** Acts on a relay; relays of the server's flags can't be edited. */
export function Acts({ of: r, reload, more = [] }) {
	return html`<${Menu} kind="quiet" label=${t('relays.actsOf', { name: nameOf(r) })} items=${[
		...more,
		r.state === 'paused' ? { icon: 'play', name: t('relays.resume'), run: () => resume(r, reload) } : { icon: 'pause', name: t('relays.pause'), run: () => pause(r, reload) },
		{ icon: 'health', name: t('relays.test'), href: base + encoded`/operator/relays?relay=${nameOf(r)}` },
		r.from === 'database' && { icon: 'lock', name: t('relays.change'), run: () => change(r, reload) },
		null,
		r.from === 'database' && { icon: 'trash', name: t('relays.remove'), danger: true, run: () => remove(r, reload) },
	]} />`;
}

export async function pause(r, reload) {
	const span = await dialog((close) => html`<${Pause} name=${nameOf(r)} close=${close} />`);
	if (span === undefined) return;
	await attempt(async () => {
		await api.post(encoded`/relays/${r.region}/pause`, span ? { for: span } : undefined, { team: null, query: only(r) });
		await reload();
	}, t('relays.paused', { name: nameOf(r) }), { undo: () => resume(r, reload) });
}

function Pause({ name, close }) {
	return html`<${DialogBody} title=${t('relays.pauseTitle', { name })} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//>`}><p>${t('relays.pauseText')}</p><div class="row row--wrap">${['30m', '2h', '1d', ''].map((span) => html`<${Button} onClick=${() => close(span)}>${t(`relays.spans.${span || 'ever'}`)}<//>`)}</div><//>`;
}

export const resume = (r, reload) => attempt(async () => {
	await api.post(encoded`/relays/${r.region}/resume`, undefined, { team: null, query: only(r) });
	await reload();
}, t('relays.resumed', { name: nameOf(r) }));

async function remove(r, reload) {
	if (!(await confirm({ title: t('relays.removeTitle', { name: nameOf(r) }), text: t('relays.removeText', { n: r.waiting }), act: t('relays.remove') }))) return;
	if (await attempt(() => api.del(encoded`/relays/${r.region}`, undefined, { team: null, query: only(r) }), t('relays.removed', { name: nameOf(r) }))) {
		go('/operator/relays');
		await reload();
	}
}

export async function change(r, reload) {
	if (await dialog((close) => html`<${Change} of=${r} close=${close} />`)) {
		toast(t('relays.changed', { name: nameOf(r) }));
		await reload();
	}
}

function Change({ of: r, close }) {
	const [url, setUrl] = useState(`${/:465$/.test(r.host) ? 'smtps' : 'smtp'}://${r.user ? `${encodeURIComponent(r.user)}:PASSWORD@` : ''}${r.host}`);
	const [wrong, setWrong] = useState('');
	const save = async () => {
		try {
			close(await api.post('/relays', { region: nameOf(r), url }, { team: null }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('relays.changeTitle', { name: nameOf(r) })} onSubmit=${save} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('ui.save')}<//>`}><p>${t('relays.changeText')}</p><${Input} label=${t('relays.url')} mono value=${url} onInput=${setUrl} error=${wrong} hint=${t('relays.urlHint')} autocomplete="off" spellcheck=${false} autofocus /><//>`;
}
