import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";var browsers=[[/Edg(?:e|A|iOS)?\/(\d+)/,"Edge"],[/OPR\/(\d+)/,"Opera"],[/SamsungBrowser\/(\d+)/,"Samsung Internet"],[/(?:Firefox|FxiOS)\/(\d+)/,"Firefox"],[/(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/,
"Chrome"],[/Version\/(\d+).*Safari/,"Safari"]],systems=[[/iPhone/,"iPhone"],[/iPad/,"iPad"],[/Android/,"Android"],[/Windows/,"Windows"],[/Mac OS X|Macintosh/,"m\
acOS"],[/CrOS/,"ChromeOS"],[/Linux/,"Linux"]];function device(agent){let browser=browsers.map(([has,name])=>[has.exec(agent),name]).find(([found])=>found),system=systems.
find(([has])=>has.test(agent))?.[1];return{name:[browser?`${browser[1]} ${browser[0][1]}`:agent.split(" ")[0].slice(0,40),system].filter(Boolean).join(", "),phone:/Mobile|iPhone|Android/.
test(agent)}}import{prefs$keepLanguage,prefs$wear}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{own_invitations$OwnInvitations}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";import{passkey$can,passkey$make,passkey$use}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{second_factor$AskFactor,second_factor$Codes,second_factor$Digits,second_factor$NoWayIn,second_factor$Progress,second_factor$TurnOn}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";function SignIn(){let keys=api$useGet("/users/me/passkeys",void 0,{team:null}),{password,second_factor:factors,recovery_codes:left}=state$me.value,totp=factors.
includes("totp");return lib_core$html`<${ui_base$Section} title=${i18n$t("account.ways")}><ul class="items">
	<${Way} icon="lock" name=${i18n$t("account.password")} note=${i18n$t(password?"account.has":"account.hasNot")}><${ui_base$Button} onClick=${()=>{ui_float$dialog(
close=>lib_core$html`<${Password} close=${close} />`)}}>${i18n$t(password?"account.change":"account.set")}<//><//>
	<${Way} icon="shield" name=${i18n$t("account.app")} note=${i18n$t(totp?"account.on":"account.off")}>${totp?lib_core$html`<${ui_base$Button} kind="danger" onClick=${turnOff}>${i18n$t(
"account.turnOff")}<//>`:lib_core$html`<${ui_base$Button} onClick=${()=>{ui_float$dialog(close=>lib_core$html`<${App} close=${close} />`)}}>${i18n$t("account.tu\
rnOn")}<//>`}<//>
	<${Way} icon="key" name=${i18n$t("account.codes")} note=${factors.length?i18n$t("account.left",{n:left}):i18n$t("account.noCodes")}>${factors.length>0&&lib_core$html`<${ui_base$Button} onClick=${newCodes}>${i18n$t(
"account.newCodes")}<//>`}<//></ul><//>
	<${ui_base$Section} title=${i18n$t("account.passkeys")} acts=${passkey$can()&&lib_core$html`<${ui_base$Button} icon="plus" onClick=${()=>{add(keys.reload)}}>${i18n$t(
"account.addPasskey")}<//>`}>
	<p class="ink2 t13r prose">${passkey$can()?i18n$t("account.passkeyText"):i18n$t("account.passkeyNo",{host:location.host})}</p>
	${keys.error&&lib_core$html`<${ui_base$Notice} kind="bad">${keys.error.message}<//>`}
	<ul class="items">${(keys.data?.data??[]).map(one=>lib_core$html`<${Way} key=${one.id} icon="passkey" name=${lib_core$html`<bdi>${one.name}</bdi>`} note=${lib_core$html`${i18n$say(
"account.since",{when:lib_core$html`<${ui_base$Time} at=${one.created_at} as="clock" />`})}, ${one.last_used_at?i18n$say("account.used",{when:lib_core$html`<${ui_base$Time} at=${one.
last_used_at} as="clock" />`}):i18n$t("account.never")}`}><${ui_base$Button} kind="danger" onClick=${()=>remove(one,keys.reload)}>${i18n$t("ui.remove")}<//><//>`)}</ul><//>`}
var Way=({icon,name,note,children})=>lib_core$html`<li><${ui_base$Icon} name=${icon} /><span class="grow">${name}<br /><span class="muted t12">${note}</span></span>${children}</li>`,
cancel=close=>lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t("ui.cancel")}<//>`;function Password({close}){let[current,setCurrent]=lib_core$useState(
""),[fresh,setFresh]=lib_core$useState(""),has=state$me.value.password,form=gate$useForm(async()=>{await api$api.post("/users/me/password",has?{current,new:fresh}:
{new:fresh},{team:null}),await gate$arrive(),close(),ui_float$toast(i18n$t("account.changed"))});return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(has?
"account.changeTitle":"account.set")} onSubmit=${form.submit} acts=${lib_core$html`${cancel(close)}<${ui_base$Button} type="submit" kind="primary" busy=${form.busy}>${i18n$t(
"ui.save")}<//>`}>
	<${gate$Said} form=${form} fields=${["new","current"]} words=${{invalid_credentials:i18n$t("account.wrong")}} />
	<input type="text" class="vh" autocomplete="username" tabindex="-1" aria-hidden="true" readonly value=${state$me.value.email} />
	${has&&lib_core$html`<${ui_base$Input} label=${i18n$t("account.current")} type="password" autocomplete="current-password" required value=${current} onInput=${setCurrent} error=${gate$about(
form.error,"current")} autofocus />`}
	<${ui_base$Input} label=${i18n$t("account.new")} type="password" autocomplete="new-password" required value=${fresh} onInput=${setFresh} hint=${i18n$t("account\
.newHint")} error=${gate$about(form.error,"new")} /><//>`}var showCodes=codes=>ui_float$dialog(close=>lib_core$html`<${ui_float$DialogBody} title=${i18n$t("fact\
or.codes")} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t("account.done")}<//>`}><${second_factor$Codes} codes=${codes} /><//>`),
App=({close})=>lib_core$html`<${ui_float$DialogBody} title=${i18n$t("account.appTitle")} acts=${null}><p>${i18n$t("account.appText")}</p><${second_factor$TurnOn} skip=${close} skipWord=${i18n$t(
"ui.cancel")} done=${async codes=>{close(),await showCodes(codes),await ui_float$attempt(gate$arrive)}} /><//>`;async function turnOff(){await ui_float$confirm(
{title:i18n$t("account.offTitle"),text:i18n$t("account.offText"),act:i18n$t("account.turnOff")})&&await ui_float$attempt(async()=>{await api$api.del("/users/me/\
totp",void 0,{team:null}),await gate$arrive()},i18n$t("account.offDone"))}async function newCodes(){if(state$me.value.recovery_codes&&!await ui_float$confirm({title:i18n$t(
"account.newCodesTitle"),text:i18n$t("account.newCodesText"),act:i18n$t("account.newCodes")}))return;let made=await ui_float$attempt(()=>api$api.post("/users/me\
/recovery-codes",void 0,{team:null}));made&&(await showCodes(made.recovery_codes),await ui_float$attempt(gate$arrive))}async function add(reload){let made=await ui_float$dialog(
close=>lib_core$html`<${Passkey} close=${close} />`);made&&(made.recovery_codes?.length&&await showCodes(made.recovery_codes),await ui_float$attempt(gate$arrive),
await reload())}function Passkey({close}){let[name,setName]=lib_core$useState(""),form=gate$useForm(async()=>{let made=await passkey$make(name.trim());close(made),
ui_float$toast(i18n$t("account.passkeyDone"))});return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("account.addPasskey")} onSubmit=${form.submit} acts=${lib_core$html`${cancel(
close)}<${ui_base$Button} type="submit" kind="primary" busy=${form.busy}>${i18n$t("ui.add")}<//>`}>
	<${gate$Said} form=${form} fields=${["name"]} /><${ui_base$Input} label=${i18n$t("account.passkeyName")} required maxlength="100" value=${name} onInput=${setName} hint=${i18n$t(
"account.passkeyNameHint")} error=${gate$about(form.error,"name")} autofocus /><//>`}async function remove(one,reload){await ui_float$confirm({title:i18n$t("acc\
ount.removeTitle",{name:one.name}),text:i18n$t("account.removeText"),act:i18n$t("ui.remove")})&&await ui_float$attempt(async()=>{await api$api.del(paths$encoded`/users/me/passkeys/${one.
id}`,void 0,{team:null}),await Promise.all([reload(),gate$arrive()])},i18n$t("account.removed"))}function Account(){let part=router$place.value.query.get("part")??"profile",at=router$base+"/account",links=[[i18n$t("account.profile"),at],[i18n$t("account.sig\
nIn"),`${at}?part=sign-in`],[i18n$t("account.sessions"),`${at}?part=sessions`]];return lib_core$html`<${ui_base$Head} title=${i18n$t("account.title")} /><${ui_base$Sections} label=${i18n$t(
"account.sections")} links=${links} at=${part==="profile"?at:`${at}?part=${part}`} />
	<div class="page page--text">${part==="sessions"?lib_core$html`<${Sessions} />`:part==="sign-in"?lib_core$html`<${SignIn} />`:lib_core$html`<${Profile} />`}</div>`}
var change=(change2,done)=>ui_float$attempt(async()=>state$signedIn(await api$api.patch("/users/me",change2,{team:null})),done);function Profile(){let[name,setName]=lib_core$useState(
state$me.value.name),pickLanguage=async id=>{await ui_float$attempt(async()=>(state$signedIn(await api$api.patch("/users/me",{language:id},{team:null})),!0))&&(prefs$keepLanguage(
id),await i18n$speak(i18n$preferred()))};return lib_core$html`<${ui_base$Section} title=${i18n$t("account.profile")}><form class="fields" onSubmit=${e=>{e.preventDefault(),
change({name:name.trim()},i18n$t("account.saved"))}}><${ui_base$Input} label=${i18n$t("account.name")} autocomplete="name" maxlength="100" value=${name} onInput=${setName} /><${ui_base$Button} type="submit" kind="primary" disabled=${name.
trim()===state$me.value.name}>${i18n$t("ui.save")}<//></form><//>
	<${ui_base$Section} title=${i18n$t("account.looks")}><div class="fields"><${ui_base$Select} label=${i18n$t("account.language")} value=${state$me.value.language??
""} onChange=${pickLanguage} options=${[["",i18n$t("account.browsers")],...Object.entries(i18n$languages)]} />
	<div class="field"><span class="field-label">${i18n$t("account.theme")}</span><span><${ui_base$Seg} label=${i18n$t("account.theme")} value=${state$me.value.theme??
""} onChange=${theme=>change({theme})} options=${[["",i18n$t("account.system")],["light",i18n$t("account.light")],["dark",i18n$t("account.dark")]]} /></span></div></div><//>
	<${own_invitations$OwnInvitations} /><${ui_base$Section} title=${i18n$t("account.teams")}><${ui_base$Facts} pairs=${[[i18n$t("account.email"),lib_core$html`<bdi>${state$me.
value.email}</bdi>${state$me.value.operator&&lib_core$html` <span class="badge">${i18n$t("account.operator")}</span>`}`],...state$me.value.teams.map(one=>[lib_core$html`<bdi>${one.
name}</bdi>`,i18n$t(`roles.${one.role}`)])]} /><//>`}function Sessions(){let list=api$useGet("/users/me/sessions",{limit:100},{team:null});if(list.error&&!list.
data)return lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />`;if(!list.data)return lib_core$html`<${ui_base$Bones} rows=${3} />`;let rows=list.
data.data,others=rows.filter(s=>!s.current).length,end=s=>ui_float$attempt(async()=>{await api$api.del(paths$encoded`/users/me/sessions/${s.id}`,void 0,{team:null}),
await list.reload()},i18n$t("account.ended",{device:device(s.device).name})),endOthers=()=>ui_float$attempt(async()=>{let{ended}=await api$api.del("/users/me/se\
ssions",void 0,{team:null});return await list.reload(),ended},n=>i18n$t("account.othersEnded",{n}));return lib_core$html`<${ui_base$Section} title=${i18n$t("acc\
ount.sessions")} acts=${others>0&&lib_core$html`<${ui_base$Button} kind="danger" onClick=${endOthers}>${i18n$t("account.endOthers",{n:others})}<//>`}>
	<table class="table table--fixed table--two"><thead><tr><th scope="col">${i18n$t("account.device")}</th><th scope="col" class="hide-s w-team">${i18n$t("account\
.address")}</th><th scope="col" class="hide-s w-status">${i18n$t("account.signedIn")}</th><th scope="col" class="num w-age">${i18n$t("account.seen")}</th><th scope="col" class="num w-num"><span class="vh">${i18n$t(
"ui.acts")}</span></th></tr></thead>
	<tbody>${rows.map(s=>{let{name,phone}=device(s.device);return lib_core$html`<tr key=${s.id}><td class="cell-cut" title=${s.device}><${ui_base$Icon} name=${phone?
"phone":"desktop"} /> ${name||i18n$t("account.unknown")}<span class="cell-sub">${s.address}</span></td><td class="hide-s cell-cut"><span class="mono">${s.address}</span></td><td class="hide-s" title=${format$exact(
s.created_at)}>${format$clock(s.created_at)}</td><td class="num muted"><${ui_base$Time} at=${s.seen_at} /></td><td class="num">${s.current?lib_core$html`<span class="badge">${i18n$t(
"account.thisOne")}</span>`:lib_core$html`<${ui_base$Button} kind="quiet" aria-label=${i18n$t("account.endOf",{device:name})} onClick=${()=>end(s)}>${i18n$t("ac\
count.end")}<//>`}</td></tr>`})}</tbody></table><//>`}export{Account as default};
