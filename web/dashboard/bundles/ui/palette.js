import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"../app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"../app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"../app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"../app.js";import{recent$kinds,recent$noteVisits,recent$recent}from"../app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"../app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"../app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"../app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"../app.js";var shown=!1;async function openPalette(){if(shown)return;shown=!0;let item=await ui_float$dialog(close=>lib_core$html`<${Palette} close=${close} />`);shown=!1,
item&&(item.run?await item.run():item.href?location.assign(item.href):router$go(item.to))}function openKeys(){let keys=["palette","help","search","next","open",
"select","escape"];return ui_float$dialog(close=>lib_core$html`<${ui_float$DialogBody} title=${i18n$t("keysHelp.title")} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} type="submit">${i18n$t(
"ui.close")}<//>`}><dl class="kv kv--rows">${keys.map(k=>lib_core$html`<dt><span class="kbd">${i18n$t(`keysHelp.${k}.key`)}</span></dt><dd>${i18n$t(`keysHelp.${k}\
.does`)}</dd>`)}</dl><//>`)}var pages={overview:"overview",emails:"mail",broadcasts:"broadcast",contacts:"audience",segments:"audience",topics:"audience",properties:"\
audience",imports:"audience",suppressions:"shield",templates:"template",blocks:"template",images:"image",domains:"globe",keys:"key",smtp:"key",webhooks:"webhook",
reputation:"gauge",usage:"gauge",requests:"list",queue:"queue",account:"user"},admins={team:"teams",audit:"history"},operators={relays:"relay",reports:"relay",teams:"\
teams",people:"user",health:"health",backups:"health",settings:"settings",disk:"health"},nameOf=thing=>thing.subject||thing.name||[thing.first_name,thing.last_name].
filter(Boolean).join(" ")||thing.email||thing.endpoint||thing.id,names=new Map,manual=null;async function quiet(path,query){try{return await api$api.get(path,query)}catch(e){
if(!(e instanceof api$ApiError))throw e;return null}}async function readNames(){let of=state$team.value??"",lists=of&&!names.has(of)?["domains","broadcasts","te\
mplates","segments","webhooks"]:[],found=await Promise.all(lists.map(async kind=>((await quiet(`/${kind}`,{limit:100}))?.data??[]).map(thing=>({kind,to:paths$encoded`/${kind}/${thing.
id}`,name:nameOf(thing)}))));if(lists.length&&(names.set(of,found.flat()),setTimeout(()=>names.delete(of),6e4)),manual===null){manual=[];let answer=await fetch(
"/manual/index.json").catch(()=>null);answer?.ok&&(manual=await answer.json().catch(()=>[]))}}var isId=text=>/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(
text);async function look(text){if(!state$team.value)return[];if(isId(text))return(await Promise.all(Object.keys(recent$kinds).map(async kind=>[kind,await quiet(
paths$encoded`/${kind}/${text}`)]))).filter(([,thing])=>thing).map(([kind,thing])=>({group:kind==="contacts"?"people":kind,icon:recent$kinds[kind],name:nameOf(thing),
to:paths$encoded`/${kind}/${text}`,note:i18n$t("palette.open")}));let address=text.includes("@"),[people,emails]=await Promise.all([quiet("/contacts",{search:text,
limit:4}),quiet("/emails",{...address?{to:text}:{subject:text},limit:4})]);return[...(people?.data??[]).map(c=>({group:"people",icon:"user",name:nameOf(c),sub:nameOf(
c)===c.email?"":c.email,to:paths$encoded`/contacts/${c.id}`,note:i18n$t("palette.open")})),...(emails?.data??[]).map(e=>({group:"emails",icon:"mail",name:e.subject||
i18n$t("emails.noSubject"),sub:e.to[0],to:paths$encoded`/emails/${e.id}`,note:i18n$t(`status.${e.state}`)}))]}function acts(text){let send={group:"acts",icon:"s\
end",name:i18n$t("palette.send"),run:async()=>(await import("../send.js")).sendDialog()},relay={group:"acts",icon:"plus",name:i18n$t("palette.addRelay"),run:async()=>{
let region=await(await import("../relays-add.js")).addDialog();region&&router$go(paths$encoded`/operator/relays?relay=${region}`)}},keys={group:"acts",icon:"lis\
t",name:i18n$t("shell.keysHelp"),note:"?",run:openKeys},all=[...state$team.value?[send]:[],...state$me.value?.operator?[relay]:[],keys];return text?all.filter(a=>a.
name.toLowerCase().includes(text)):all}function pagesFor(text){return[...Object.entries(pages).map(([p,icon])=>({icon,name:i18n$t(`palette.${p}`),to:p==="overvi\
ew"?"/":`/${p}`})),...state$mayAdmin.value?Object.entries(admins).map(([p,icon])=>({icon,name:i18n$t(`palette.${p}`),to:`/${p}`})):[],...state$me.value?.operator?
Object.entries(operators).map(([p,icon])=>({icon,name:i18n$t(`palette.${p}`),to:`/operator/${p}`})):[]].map(p=>({...p,group:"pages"})).filter(p=>p.name.toLowerCase().
includes(text)).sort((a,b)=>Number(b.name.toLowerCase().startsWith(text))-Number(a.name.toLowerCase().startsWith(text)))}function itemsFor(typed,found){let text=typed.
trim().toLowerCase();if(!text)return[...recent$recent().map(r=>({...r,group:"recent",icon:recent$kinds[r.kind]})),...acts(""),...pagesFor("")];let named=(names.
get(state$team.value??"")??[]).filter(n=>n.name.toLowerCase().includes(text)).slice(0,6).map(n=>({...n,group:"named",icon:recent$kinds[n.kind],note:i18n$t(`pale\
tte.${n.kind}`)})),search=isId(text)||!state$team.value?[]:[{group:"emails",icon:"search",name:i18n$t(text.includes("@")?"palette.emailsTo":"palette.emailsAbout",
{text:typed.trim()}),to:`/emails?${new URLSearchParams(text.includes("@")?{to:typed.trim()}:{subject:typed.trim()})}`,note:`${text.includes("@")?"to":"subject"}\
:`},...text.includes("@")||text.includes(" ")?[]:[{group:"emails",icon:"search",name:i18n$t("palette.emailsTo",{text:typed.trim()}),to:`/emails?${new URLSearchParams(
{to:typed.trim()})}`,note:"to:"}]],chapters=(manual??[]).flatMap(page=>[{title:page.title,href:`/manual/${page.page}`},...page.headings.map(h=>({title:h.title,href:`\
/manual/${page.page}#${h.id}`,page:page.title}))]).filter(c=>c.title.toLowerCase().includes(text)).slice(0,5).map(c=>({group:"manual",icon:"info",name:c.title,href:c.
href,note:c.page??i18n$t("ui.manual")}));return[...found.filter(f=>f.group!=="emails"),...pagesFor(text).slice(0,8),...named,...search,...found.filter(f=>f.group===
"emails"),...acts(text),...chapters]}function Marked({text,typed}){let at=typed?text.toLowerCase().indexOf(typed.toLowerCase()):-1;return at<0?lib_core$html`<bdi>${text}</bdi>`:
lib_core$html`<bdi>${text.slice(0,at)}<mark>${text.slice(at,at+typed.length)}</mark>${text.slice(at+typed.length)}</bdi>`}function Palette({close}){let[typed,type]=lib_core$useState(
""),[at,setAt]=lib_core$useState(0),[found,setFound]=lib_core$useState({of:"",items:[]}),[,draw]=lib_core$useState(0),list=lib_core$useRef(null),text=typed.trim();
lib_core$useEffect(()=>{readNames().then(()=>draw(n=>n+1))},[]),lib_core$useEffect(()=>{if(text.length<2)return;let current=!0,timer=setTimeout(()=>look(text).then(
items2=>current&&setFound({of:text,items:items2})),150);return()=>{current=!1,clearTimeout(timer)}},[text]);let items=itemsFor(typed,found.of===text?found.items:
[]);lib_core$useEffect(()=>list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({block:"nearest"}),[at,items.length]);let onKey=e=>{let step={ArrowDown:1,
ArrowUp:-1}[e.key];step?(e.preventDefault(),setAt((at+step+items.length)%Math.max(1,items.length))):e.key==="Enter"&&(e.preventDefault(),items[at]&&close(items[at]))};
return lib_core$html`<div class="palette"><div class="palette-input"><${ui_base$Icon} name="search" /><input role="combobox" id="dialog-title" aria-expanded="true" aria-autocomplete="list" aria-controls="palette-list" aria-activedescendant=${items.
length?`palette-${at}`:void 0} aria-label=${i18n$t("shell.find")} placeholder=${i18n$t("palette.hint")} autocomplete="off" spellcheck=${!1} autofocus value=${typed} onInput=${e=>{
type(e.currentTarget.value),setAt(0)}} onKeyDown=${onKey} /><span class="kbd">esc</span></div><div class="menu-list palette-list" ref=${list} id="palette-list" role="listbox" aria-label=${i18n$t(
"shell.find")}>${items.map((item,i)=>lib_core$html`${item.group!==items[i-1]?.group&&lib_core$html`<div class="menu-name" role="presentation">${i18n$t(`palette.\
groups.${item.group}`)}</div>`}<div class="menu-item" role="option" id=${`palette-${i}`} aria-selected=${String(i===at)} onClick=${()=>close(item)} onMouseMove=${()=>i!==
at&&setAt(i)}><${ui_base$Icon} name=${item.icon} /><span class="cut"><${Marked} text=${item.name} typed=${text} />${item.sub&&lib_core$html` <span class="muted">${item.
sub}</span>`}</span><span class="menu-note">${i===at?"↵":item.note??""}</span></div>`)}${!items.length&&lib_core$html`<p class="palette-none muted">${i18n$t("\
palette.none")}</p>`}</div></div>`}export{openKeys,openPalette};
