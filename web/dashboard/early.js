// What can't wait for the modules: the theme that this reader chose, before the first paint,
// and what is asked for whatever the page, so that its answer is there when the modules are.
{
	const kept = (name) => {
		try {
			return localStorage.getItem(name);
		} catch {
			return null; // a browser that keeps nothing has the system's
		}
	};
	const theme = kept('mailer.theme');
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
	const script = /** @type {HTMLScriptElement} */ (document.currentScript);
	const languages = (script.dataset.languages ?? '').split(' ');
	// The language chosen, or the browser's first that there is a file for.
	const preferred = () => [kept('mailer.language'), ...navigator.languages].map((l) => (l ?? '').slice(0, 2)).find((l) => languages.includes(l)) ?? 'en';
	const language = preferred();
	// Each answer is taken once; who finds none asks.
	const asked = (address) => fetch(address).catch(() => null);
	/** @type {any} */ (globalThis).early = {
		preferred,
		language,
		words: asked(new URL(`./i18n/${language}.json`, script.src)),
		me: script.dataset.open === undefined ? asked('/users/me') : null,
	};
}
