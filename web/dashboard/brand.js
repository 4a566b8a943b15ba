// The brand of a team: logo, color, font and footer of its visual emails and hosted pages.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { colorsOf, contrast, enough, isColor, stacks } from './brand-colors.js';
import { size } from './format.js';
import { about, arrive, Said, useForm } from './gate.js';
import { Shown } from './hosted-pages.js';
import { t } from './i18n.js';
import { Bones, Button, Failed, Field, Icon, Input, Section, Select } from './ui/base.js';
import { attempt, confirm, toast } from './ui/float.js';

/** The most bytes of a logo. */
const most = 512 * 1024;

/** The part of the team's settings. */
export function Brand() {
	const brand = useGet('/team/brand');
	if (brand.error && !brand.data) return html`<${Failed} error=${brand.error} retry=${brand.reload} />`;
	if (!brand.data) return html`<${Bones} rows=${3} />`;
	return html`<${Parts} of=${brand.data} set=${brand.set} />`;
}

function Parts({ of, set }) {
	const [color, setColor] = useState(of.color ?? '');
	const [font, setFont] = useState(of.font);
	const [footer, setFooter] = useState(of.footer ?? '');
	const form = useForm(async () => {
		const now = await api.patch('/team/brand', { color: color || null, font, footer: footer.trim() || null });
		set(now);
		setFooter(now.footer ?? '');
		toast(t('team.saved'));
	});
	const same = color === (of.color ?? '') && font === of.font && footer.trim() === (of.footer ?? '');
	const wrong = color && !isColor(color) ? t('brand.colorWrong') : about(form.error, 'color');
	return html`<${Section} title=${t('brand.title')}><p class="ink2 t13r prose">${t('brand.text')}</p>
	<div class="cols brand"><form class="fields" onSubmit=${(e) => {
		e.preventDefault();
		form.submit();
	}}><${Logo} of=${of} set=${set} /><${Said} form=${form} fields=${['color', 'font', 'footer']} />
		<${Color} value=${color} onInput=${setColor} error=${wrong} />
		<${Select} label=${t('brand.font')} value=${font} onChange=${setFont} options=${Object.keys(stacks).map((name) => [name, t(`brand.fonts.${name}`)])} error=${about(form.error, 'font')} />
		<${Input} label=${t('brand.footer')} lines="4" maxlength="500" value=${footer} onInput=${setFooter} hint=${t('brand.footerHint')} error=${about(form.error, 'footer')} />
		<${Button} type="submit" kind="primary" disabled=${same || Boolean(color && !isColor(color))} busy=${form.busy}>${t('team.save')}<//></form>
	<div class="stack"><${Sample} of=${of} color=${isColor(color) ? color : null} font=${font} footer=${footer} /><${Shown} key=${JSON.stringify(of)} stamp=${of} /></div></div><//>`;
}

/** The bytes of a file in base64. @param {File} file @returns {Promise<string>} */
const base64 = (file) => new Promise((done, fail) => {
	const reader = new FileReader();
	reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ''));
	reader.onerror = () => fail(reader.error);
	reader.readAsDataURL(file);
});

/** The address of a logo that this page may show: one on this server. @param {any} of */
const shownAt = (of) => (of.logo_width ? new URL(of.logo_url).pathname : null);

function Logo({ of, set }) {
	const input = useRef(/** @type {any} */ (null));
	const [over, setOver] = useState(false);
	const [busy, setBusy] = useState(false);
	const [wrong, say] = useState('');
	const take = async (/** @type {File|undefined} */ file) => {
		if (!file || busy) return;
		say(file.size > most ? t('brand.tooLarge', { size: size(file.size) }) : '');
		if (file.size > most) return;
		setBusy(true);
		try {
			set(await api.post('/team/logo', { content: await base64(file) }));
			await arrive();
			toast(t('brand.logoSaved'));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(about(e, 'content') ?? e.message);
		}
		setBusy(false);
	};
	const remove = async () => {
		if (!(await confirm({ title: t('brand.removeTitle'), text: t('brand.removeText'), act: t('brand.remove') }))) return;
		await attempt(async () => set(await api.del('/team/logo')), t('brand.logoRemoved'));
	};
	const at = shownAt(of);
	return html`<${Field} label=${t('brand.logo')} hint=${t('brand.limits')} error=${wrong}>${(attributes) => html`<div class=${`brand-drop ${over ? 'is-over' : ''}`} onDragOver=${(e) => {
		e.preventDefault();
		setOver(true);
	}} onDragLeave=${() => setOver(false)} onDrop=${(e) => {
		e.preventDefault();
		setOver(false);
		take(e.dataTransfer.files[0]);
	}}>${at ? html`<img class="brand-logo" src=${at} alt=${t('brand.logo')} />` : html`<span class="muted t13r">${of.logo_url ? t('brand.elsewhere', { host: new URL(of.logo_url).host }) : t('brand.drop')}</span>`}
	<span class="row row--wrap"><${Button} icon="attach" busy=${busy} onClick=${() => input.current.click()}>${t(of.logo_url ? 'brand.replace' : 'brand.choose')}<//>${of.logo_url && html`<${Button} kind="quiet" icon="trash" onClick=${remove}>${t('brand.remove')}<//>`}</span>
	<input class="vh" type="file" tabindex="-1" ref=${input} accept="image/png,image/jpeg,image/webp" ...${attributes} onChange=${(e) => {
		take(e.currentTarget.files[0]);
		e.currentTarget.value = '';
	}} /></div>`}<//>`;
}

/** A color, by its code or picked, and how well text in it can be read. */
function Color({ value, onInput, error }) {
	const known = isColor(value);
	const ratio = known ? contrast(value) : 0;
	// Cut, not rounded: 4.49 must not be said to be 4.5.
	const said = known ? t(ratio >= enough ? 'brand.contrastGood' : 'brand.contrastLow', { ratio: (Math.floor(ratio * 10) / 10).toFixed(1) }) : t('brand.colorHint');
	return html`<${Field} label=${t('brand.color')} error=${error} hint=${html`${known && ratio < enough && html`<${Icon} name="alert" class="warn" /> `}${said}`}>${(attributes) => html`<span class="row brand-color"><input type="color" aria-label=${t('brand.pick')} value=${known ? value : colorsOf(null).button} onInput=${(e) => onInput(e.currentTarget.value)} />
		<input class="input mono" maxlength="7" placeholder=${colorsOf(null).button} value=${value} spellcheck="false" autocomplete="off" onInput=${(e) => onInput(e.currentTarget.value.trim().toLowerCase())} ...${attributes} />${value && html`<${Button} kind="quiet" onClick=${() => onInput('')}>${t('brand.reset')}<//>`}</span>`}<//>`;
}

/** How an email would look. */
function Sample({ of, color, font, footer }) {
	const box = useRef(/** @type {any} */ (null));
	const colors = colorsOf(color);
	useEffect(() => {
		// The policy of the page allows no style attributes; properties that a script sets it does.
		for (const [name, value] of Object.entries({ '--brand': colors.button, '--brand-on': colors.on, '--brand-link': colors.link, 'font-family': stacks[font] })) box.current.style.setProperty(name, value);
	}, [color, font]);
	const at = shownAt(of);
	return html`<section class="sheet" aria-label=${t('brand.preview')}><div class="sheet-head"><span class="muted t12">${t('brand.preview')}</span></div><div class="brand-mail" ref=${box}>
		${at ? html`<img class="brand-logo" src=${at} alt=${of.name} />` : html`<b><bdi>${of.name}</bdi></b>`}
		<p class="brand-title">${t('starters.news.title')}</p><p>${t('starters.news.text')}</p><p><span class="brand-button">${t('starters.news.act')}</span></p>
		<p class="brand-foot">${footer.split('\n').map((line, i) => html`${i > 0 && html`<br />`}${line}`)}</p><p class="brand-foot"><span class="brand-link">${t('visual.unsubscribeText')}</span></p></div></section>`;
}
