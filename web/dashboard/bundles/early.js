{let kept=name=>{try{return localStorage.getItem(name)}catch{return null}},theme=kept("mailer.theme");(theme==="light"||theme==="dark")&&(document.documentElement.
dataset.theme=theme);let script=document.currentScript,languages=(script.dataset.languages??"").split(" "),preferred=()=>[kept("mailer.language"),...navigator.languages].
map(l=>(l??"").slice(0,2)).find(l=>languages.includes(l))??"en",language=preferred(),asked=address=>fetch(address).catch(()=>null);globalThis.early={preferred,language,
words:asked(new URL(`./i18n/${language}.json`,script.src)),me:script.dataset.open===void 0?asked("/users/me"):null}}
