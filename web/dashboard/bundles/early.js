// module:early.js
{
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const theme = kept("mailer.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  const script = (
    /** @type {HTMLScriptElement} */
    document.currentScript
  );
  const languages = (script.dataset.languages ?? "").split(" ");
  const preferred = () => [kept("mailer.language"), ...navigator.languages].map((l) => (l ?? "").slice(0, 2)).find((l) => languages.includes(l)) ?? "en";
  const language = preferred();
  const asked = (address) => fetch(address).catch(() => null);
  globalThis.early = {
    preferred,
    language,
    words: asked(new URL(`./i18n/${language}.json`, script.src)),
    me: script.dataset.open === void 0 ? asked("/users/me") : null
  };
}
