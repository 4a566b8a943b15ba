import{reputation$StandingSections,reputation$default}from"./shared.js";export{reputation$StandingSections as StandingSections,reputation$default as default};
