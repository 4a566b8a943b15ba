import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{relays_lights$Light,relays_lights$Relays,relays_lights$doing,relays_lights$nameOf,relays_lights$only}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";function Acts({of:r,reload,more=[]}){return lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("relays.actsOf",{name:relays_lights$nameOf(r)})} items=${[
...more,r.state==="paused"?{icon:"play",name:i18n$t("relays.resume"),run:()=>resume(r,reload)}:{icon:"pause",name:i18n$t("relays.pause"),run:()=>pause(r,reload)},
{icon:"health",name:i18n$t("relays.test"),href:router$base+paths$encoded`/operator/relays?relay=${relays_lights$nameOf(r)}`},r.from==="database"&&{icon:"lock",name:i18n$t(
"relays.change"),run:()=>change(r,reload)},null,r.from==="database"&&{icon:"trash",name:i18n$t("relays.remove"),danger:!0,run:()=>remove(r,reload)}]} />`}async function pause(r,reload){
let span=await ui_float$dialog(close=>lib_core$html`<${Pause} name=${relays_lights$nameOf(r)} close=${close} />`);span!==void 0&&await ui_float$attempt(async()=>{
await api$api.post(paths$encoded`/relays/${r.region}/pause`,span?{for:span}:void 0,{team:null,query:relays_lights$only(r)}),await reload()},i18n$t("relays.pause\
d",{name:relays_lights$nameOf(r)}),{undo:()=>resume(r,reload)})}function Pause({name,close}){return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("relays\
.pauseTitle",{name})} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t("ui.cancel")}<//>`}><p>${i18n$t("relays.pauseText")}</p><div class="row row--wrap">${[
"30m","2h","1d",""].map(span=>lib_core$html`<${ui_base$Button} onClick=${()=>close(span)}>${i18n$t(`relays.spans.${span||"ever"}`)}<//>`)}</div><//>`}var resume=(r,reload)=>ui_float$attempt(
async()=>{await api$api.post(paths$encoded`/relays/${r.region}/resume`,void 0,{team:null,query:relays_lights$only(r)}),await reload()},i18n$t("relays.resumed",{
name:relays_lights$nameOf(r)}));async function remove(r,reload){await ui_float$confirm({title:i18n$t("relays.removeTitle",{name:relays_lights$nameOf(r)}),text:i18n$t(
"relays.removeText",{n:r.waiting}),act:i18n$t("relays.remove")})&&await ui_float$attempt(()=>api$api.del(paths$encoded`/relays/${r.region}`,void 0,{team:null,query:relays_lights$only(
r)}),i18n$t("relays.removed",{name:relays_lights$nameOf(r)}))&&(router$go("/operator/relays"),await reload())}async function change(r,reload){await ui_float$dialog(
close=>lib_core$html`<${Change} of=${r} close=${close} />`)&&(ui_float$toast(i18n$t("relays.changed",{name:relays_lights$nameOf(r)})),await reload())}function Change({
of:r,close}){let[url,setUrl]=lib_core$useState(`${/:465$/.test(r.host)?"smtps":"smtp"}://${r.user?`${encodeURIComponent(r.user)}:PASSWORD@`:""}${r.host}`),[wrong,
setWrong]=lib_core$useState(""),save=async()=>{try{close(await api$api.post("/relays",{region:relays_lights$nameOf(r),url},{team:null}))}catch(e){if(!(e instanceof
api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("relays.changeTitle",{name:relays_lights$nameOf(r)})} onSubmit=${save} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("ui.save")}<//>`}><p>${i18n$t("relays.changeText")}</p><${ui_base$Input} label=${i18n$t(
"relays.url")} mono value=${url} onInput=${setUrl} error=${wrong} hint=${i18n$t("relays.urlHint")} autocomplete="off" spellcheck=${!1} autofocus /><//>`}import{relays_add$Steps,relays_add$addDialog}from"./app.js";var short=name=>name.slice(name.indexOf("/")+1);function headline(f,all){let active=all.find(r=>relays_lights$nameOf(r)===f.active),words={region:f.region,relay:short(
f.active),at:f.switched_at?format$clock(f.switched_at):""},usable=r=>r.state==="open";return all.every(r=>r.state==="paused")?{kind:"warn",icon:"st-resting",line:i18n$t(
"relays.regions.paused",words)}:!f.available&&!all.some(usable)?{kind:"bad",icon:"alert",line:i18n$t("relays.regions.down",words),fix:active?.reason}:active&&!usable(
active)?{kind:f.available?"bad":"warn",icon:"alert",line:i18n$t("relays.regions.unusable",words),fix:active.reason}:f.active!==f.primary?{kind:"warn",icon:"st-o\
pen",line:i18n$t("relays.regions.reserveSends",words),fix:f.switch_reason}:{kind:"good",icon:"st-open",line:i18n$t("relays.regions.primarySends",words),fix:f.by_operator||
f.policy.mode!=="auto"?void 0:i18n$t("relays.regions.autoLine",{after:f.policy.after,back:f.policy.back_after})}}function RegionCard({of:f,rows,reload}){let names=[
f.primary,...f.reserves],all=names.map(name=>rows.find(r=>relays_lights$nameOf(r)===name)).filter(Boolean),change2=(act,done)=>ui_float$attempt(async()=>{await act(),
await reload()},done),auto=()=>change2(()=>api$api.post(paths$encoded`/relays/${f.region}/switch`,{auto:!0},{team:null}),i18n$t("relays.regions.autoDone",{region:f.
region})),use=async name=>{let words={region:f.region,relay:short(name)};await ui_float$confirm({title:i18n$t("relays.regions.use",words),text:i18n$t("relays.re\
gions.useText",words),act:i18n$t("relays.regions.use",words)})&&await change2(()=>api$api.post(paths$encoded`/relays/${f.region}/switch`,{relay:name},{team:null}),
i18n$t("relays.regions.used",words))},raise=name=>{let order=names.filter(other=>other!==name);return order.splice(names.indexOf(name)-1,0,name),change2(()=>api$api.
put(paths$encoded`/relays/${f.region}/order`,{relays:order},{team:null}),i18n$t("relays.regions.ordered",{region:f.region}))},add=async()=>{await relays_add$addDialog(
f.region),await reload()},paused=all.every(r=>r.state==="paused"),pause2=()=>change2(()=>api$api.post(paths$encoded`/relays/${f.region}/${paused?"resume":"pause"}`,
void 0,{team:null}),i18n$t(paused?"relays.resumed":"relays.paused",{name:f.region})),parts=[f.switched_at&&f.active!==f.primary&&i18n$t("relays.regions.moved",{
n:f.moved,at:format$clock(f.switched_at)}),f.kept>0&&lib_core$html`<a class="link" href=${`${router$base}/queue?team=all&tab=doubts`}>${i18n$t("relays.regions.k\
ept",{n:f.kept})}</a>`,f.waiting>0?lib_core$html`<a class="link" href=${router$base+paths$encoded`/queue?team=all&tab=emails&relay=${f.region}`}>${i18n$t("relay\
s.wait",{n:format$number(f.waiting)})}</a>`:i18n$t("relays.noneWaits")].filter(Boolean),policy=async()=>{await ui_float$dialog(close=>lib_core$html`<${Policy} of=${f} close=${close} />`)&&
await reload()};return lib_core$html`<div class="page"><${ui_base$Section} title=${f.region} acts=${lib_core$html`<div class="row row--wrap"><${ui_base$Button} icon="plus" onClick=${add}>${i18n$t(
"relays.regions.add")}<//><${ui_base$Button} onClick=${policy}>${i18n$t("relays.regions.policy")}<//><${ui_base$Button} icon=${paused?"play":"pause"} onClick=${pause2}>${i18n$t(
paused?"relays.regions.resumeAll":"relays.regions.pauseAll")}<//></div>`}>
	<${ui_base$Verdict} ...${headline(f,all)} />
	${f.available&&lib_core$html`<${ui_base$Notice} kind="warn" act=${lib_core$html`<${ui_base$Button} kind="primary" onClick=${()=>use(f.available)}>${i18n$t("rel\
ays.regions.use",{relay:short(f.available)})}<//>`}>${i18n$t("relays.regions.available",{relay:short(f.available)})} <code class="mono">mailer relays switch ${f.
region} ${short(f.available)}</code><//>`}
	${f.held_until&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("relays.regions.held",{relay:short(f.active),at:format$clock(f.held_until)})}<//>`}
	${f.by_operator&&lib_core$html`<${ui_base$Notice} act=${lib_core$html`<${ui_base$Button} onClick=${auto}>${i18n$t("relays.regions.auto")}<//>`}>${i18n$t("relay\
s.regions.chosen",{relay:short(f.active)})}<//>`}
	<table class="table table--fixed" aria-label=${f.region}><thead><tr><th class="w-status hide-s">${i18n$t("relays.state")}</th><th class="cell-name">${i18n$t("r\
elays.name")}</th><th class="hide-s">${i18n$t("relays.words")}</th><th class="num w-num drop-2">${i18n$t("relays.regions.hour")}</th><th class="num w-num drop-2">${i18n$t(
"relays.regions.day")}</th><th class="num cell-check"><span class="vh">${i18n$t("ui.acts")}</span></th></tr></thead><tbody>${all.map((r,i)=>lib_core$html`<tr key=${relays_lights$nameOf(
r)}><td class="hide-s"><${ui_base$Status} of=${r.state} /></td><td class="cell-name cell-cut"><a class="medium" href=${router$base+paths$encoded`/operator/relays?relay=${relays_lights$nameOf(
r)}`}>${short(relays_lights$nameOf(r))}</a> <span class="muted">${role(f,r,i)}</span><span class="cell-sub"><${ui_base$Status} of=${r.state} /> ${relays_lights$doing(
r)}</span></td><td class="cell-cut muted hide-s" title=${relays_lights$doing(r)}>${relays_lights$doing(r)}</td><td class="num drop-2">${format$number(r.sent_hour)}</td><td class="num drop-2">${format$number(
r.sent_day)}</td><td class="num"><${Acts} of=${r} reload=${reload} more=${[relays_lights$nameOf(r)!==f.active&&{icon:"send",name:i18n$t("relays.regions.use",{relay:short(
relays_lights$nameOf(r))}),run:()=>use(relays_lights$nameOf(r))},i>0&&{icon:"updown",name:i18n$t(i===1?"relays.regions.first":"relays.regions.raise"),run:()=>raise(
relays_lights$nameOf(r))},relays_lights$nameOf(r)!==f.active||i>0?null:!1]} /></td></tr>`)}</tbody></table>
	<p class="t13r muted">${parts.map((part,i)=>lib_core$html`${i>0&&"; "}${part}`)}</p><//></div>`}function role(f,r,i){let rank=i===0?i18n$t("relays.regions.prim\
ary"):i18n$t("relays.regions.reserve");return relays_lights$nameOf(r)===f.active?lib_core$html`${rank}, <strong>${i18n$t("relays.regions.active")}</strong>`:rank}
function Policy({of:f,close}){let[p,setP]=lib_core$useState({...f.policy}),[wrong,setWrong]=lib_core$useState(""),set=some=>setP(before=>({...before,...some})),
save=async()=>{try{close(await api$api.patch(paths$encoded`/relays/${f.region}/failover`,p,{team:null}))}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(
e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("relays.regions.policyOf",{region:f.region})} onSubmit=${save} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("ui.save")}<//>`}>
	${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
	<${ui_base$Select} label=${i18n$t("relays.regions.mode")} value=${p.mode} onChange=${mode=>set({mode})} options=${["auto","manual","off"].map(id=>[id,i18n$t(`r\
elays.regions.modes.${id}`)])} />
	<div class="row row--top"><${ui_base$Input} label=${i18n$t("relays.regions.after")} value=${p.after} onInput=${after=>set({after})} /><${ui_base$Input} label=${i18n$t(
"relays.regions.backAfter")} value=${p.back_after} onInput=${back_after=>set({back_after})} /></div>
	<${ui_base$Check} label=${i18n$t("relays.regions.broadcasts")} checked=${p.broadcasts} onChange=${broadcasts=>set({broadcasts})} />
	<${ui_base$Check} label=${i18n$t("relays.regions.aligned")} checked=${p.aligned_only} onChange=${aligned_only=>set({aligned_only})} />
	<${ui_base$Check} label=${i18n$t("relays.regions.doubts")} checked=${p.doubts==="send"} onChange=${send=>set({doubts:send?"send":"keep"})} /><//>`}import{reports$RelaySections,reports$default}from"./shared.js";function Relays(){let got=api$useGet("/relays",{},{team:null,live:e=>e.name==="relay",every:5}),named=router$place.value.query.get("relay"),add=async()=>{let region=await relays_add$addDialog();
await got.reload(),typeof region=="string"&&router$go(paths$encoded`/operator/relays?relay=${region}`)};ui_float$useAsked(add);let head=lib_core$html`<${ui_base$Head} title=${i18n$t(
"relays.title")}><${ui_base$Button} icon="plus" kind="primary" onClick=${add}>${i18n$t("relays.add")}<//><//><${reports$RelaySections} at="/operator/relays" />`;
if(got.error&&!got.data)return lib_core$html`${head}<${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!got.data)return lib_core$html`${head}<${ui_base$Bones} rows=${3} />`;
let rows=got.data.data,one=rows.find(r=>relays_lights$nameOf(r)===named);if(one)return lib_core$html`<${Relay} key=${relays_lights$nameOf(one)} of=${one} reload=${got.
reload} />`;if(named)return lib_core$html`${head}<${ui_base$Empty} icon="relay" title=${i18n$t("relays.gone",{name:named})} act=${lib_core$html`<${ui_base$Button} href=${`${router$base}\
/operator/relays`}>${i18n$t("relays.all")}<//>`} />`;if(!rows.length)return lib_core$html`${head}<${ui_base$Empty} ghost=${[[lib_core$html`<${ui_base$Status} of="open" />`,
lib_core$html`us-east-1 <span class="muted mono t12">smtp.example.net</span>`,"0"]]} icon="relay" title=${i18n$t("relays.noneTitle")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${add}>${i18n$t(
"relays.add")}<//>`}>${i18n$t("relays.noneText")}<//>`;let cards=rows.filter(r=>r.active),single=rows.filter(r=>!cards.some(c=>c.region===r.region));return lib_core$html`${head}${cards.
map(r=>lib_core$html`<${RegionCard} key=${r.region} of=${r} rows=${rows} reload=${got.reload} />`)}${single.length>0&&lib_core$html`<${List} rows=${single} reload=${got.
reload} />`}`}function List({rows,reload}){return lib_core$html`<table class="table table--rows table--fixed" aria-label=${i18n$t("relays.title")}><thead><tr><th class="w-status hide-s">${i18n$t(
"relays.state")}</th><th class="cell-name">${i18n$t("relays.name")}</th><th class="hide-s">${i18n$t("relays.words")}</th><th class="num w-num drop-2">${i18n$t("\
relays.todayHead")}</th><th class="num w-num">${i18n$t("relays.waits")}</th><th class="num cell-check"><span class="vh">${i18n$t("ui.acts")}</span></th></tr></thead><tbody>${rows.
map(r=>lib_core$html`<tr key=${relays_lights$nameOf(r)}><td class="hide-s"><${ui_base$Status} of=${r.state} /></td><td class="cell-name cell-cut"><a class="medium" href=${router$base+
paths$encoded`/operator/relays?relay=${relays_lights$nameOf(r)}`}>${relays_lights$nameOf(r)}</a> <span class="mono muted" title=${r.host}>${r.host}</span><span class="cell-sub"><${ui_base$Status} of=${r.
state} /> ${relays_lights$doing(r)}</span></td><td class="cell-cut muted hide-s" title=${relays_lights$doing(r)}>${relays_lights$doing(r)}</td><td class="num drop-2">${r.
daily?`${format$number(r.daily_used)} / ${format$number(r.daily)}`:"–"}</td><td class="num">${r.waiting?lib_core$html`<a href=${router$base+paths$encoded`/queue?team=all&tab=emails&relay=${r.
region}`}>${format$number(r.waiting)}</a>`:"0"}</td><td class="num"><${Acts} of=${r} reload=${reload} /></td></tr>`)}</tbody></table>`}function said(r){let words={
relay:relays_lights$nameOf(r),host:r.host,user:r.user??"",n:r.waiting,reason:r.reason??""};if(r.state==="failing"){let signIn=/^auth|535|sign/.test(r.reason??"");
return{kind:"bad",icon:"alert",line:i18n$t(signIn&&r.user?"relays.said.signIn":"relays.said.failing",words),fix:i18n$t(signIn?"relays.said.signInFix":"relays.sa\
id.failingFix",words)}}return r.state==="paused"?{kind:"warn",icon:"st-resting",line:i18n$t("relays.said.paused",words),fix:i18n$t("relays.said.pausedFix",words)}:
r.state==="resting"?{kind:"warn",icon:"st-resting",line:i18n$t("relays.said.resting",words),fix:r.reason}:{kind:"good",icon:"st-open",line:i18n$t("relays.said.o\
pen",words),fix:void 0}}function Relay({of:r,reload}){let[test,setTest]=lib_core$useState(null),[to,setTo]=lib_core$useState(""),run=()=>ui_float$attempt(async()=>{
setTest({running:!0});try{setTest(await api$api.post(paths$encoded`/relays/${r.region}/test`,to.trim()?{send_to:to.trim()}:void 0,{team:null,query:relays_lights$only(
r)}))}catch(e){throw setTest(null),e}});lib_core$useEffect(()=>{r.state==="failing"&&run()},[]);let head=said(r),own=r.from==="database",shell=own?`# the file h\
as the URL with the new password; only you can read it
mailer relays add ${relays_lights$nameOf(r)}${relays_lights$nameOf(r)===r.region?"":" --reserve"} --url-file /etc/mailer/${r.region}.url
mailer relays test ${relays_lights$nameOf(r)} --to you@example.org`:`# set when the server starts: change --relay or MAILER_RELAY, then restart
mailer relays test ${relays_lights$nameOf(r)} --to you@example.org`;return lib_core$html`<${ui_base$Head} title=${relays_lights$nameOf(r)} path=${[[i18n$t("rela\
ys.title"),`${router$base}/operator/relays`]]}>${r.state==="paused"?lib_core$html`<${ui_base$Button} icon="play" onClick=${()=>resume(r,reload)}>${i18n$t("relay\
s.resume")}<//>`:lib_core$html`<${ui_base$Button} icon="pause" onClick=${()=>pause(r,reload)}>${i18n$t("relays.pause")}<//>`}${own&&lib_core$html`<${ui_base$Button} icon="lock" class="hide-s" onClick=${()=>change(
r,reload)}>${i18n$t("relays.change")}<//>`}<${Acts} of=${r} reload=${reload} /><//>
	<${ui_base$Verdict} ...${head} />
	<div class="page">${r.note&&lib_core$html`<${ui_base$Notice} kind="warn">${r.note}<//>`}<div class="cols"><${ui_base$Section} title=${i18n$t("relays.lastTest")} acts=${lib_core$html`<${ui_base$Button} icon="refresh" onClick=${run}>${test?
i18n$t("relays.testAgain"):i18n$t("relays.test")}<//>`}>
		<div class="stack"><form class="wide" onSubmit=${e=>{e.preventDefault(),run()}}><${ui_base$Input} label=${i18n$t("relays.sendTo")} hint=${i18n$t("relays.sendT\
oHint")} value=${to} onInput=${setTo} autocomplete="off" /></form><div class="wide">${test?lib_core$html`<${relays_add$Steps} test=${test} />`:lib_core$html`<p class="muted">${i18n$t(
"relays.untested")}</p>`}</div></div><//>
	<${ui_base$Section} title=${i18n$t("relays.facts")}><${ui_base$Facts} pairs=${[[i18n$t("relays.state"),lib_core$html`<${ui_base$Status} of=${r.state} />${r.since?
lib_core$html` ${i18n$say("relays.since",{at:lib_core$html`<time datetime=${r.since} title=${format$exact(r.since)}>${format$clock(r.since)}</time>`})}`:""}`],[
i18n$t("relays.nextProbeName"),r.next_try&&format$relative(r.next_try)],[i18n$t("relays.host"),lib_core$html`<span class="mono">${r.host}</span>`],[i18n$t("rela\
ys.user"),r.user&&lib_core$html`<span class="mono">${r.user}</span>`],[i18n$t("relays.from"),i18n$t(`relays.froms.${r.from}`)],[i18n$t("relays.rateName"),r.rate?
i18n$t("relays.rate",{n:r.rate}):i18n$t("relays.noLimit")],[i18n$t("relays.todayName"),r.daily?i18n$t("relays.today",{used:r.daily_used,of:r.daily}):i18n$t("rel\
ays.noDaily")],[i18n$t("relays.connections"),format$number(r.connections)],[i18n$t("relays.regions.hour"),r.sent_hour===void 0?void 0:format$number(r.sent_hour)],
[i18n$t("relays.regions.day"),r.sent_day===void 0?void 0:format$number(r.sent_day)],[i18n$t("relays.waits"),r.waiting?lib_core$html`<a class="link" href=${router$base+
paths$encoded`/queue?team=all&tab=emails&relay=${r.region}`}>${i18n$t("relays.emails",{n:r.waiting})}</a>`:i18n$t("relays.noneWaits")]]} /><//></div><${ui_base$Section} title=${i18n$t(
"relays.shell")}><${ui_base$Code} name="shell" code=${shell} /><//></div>`}export{Relays as default};
