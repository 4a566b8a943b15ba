import{requests$Answer,requests$default,requests$ms}from"./shared.js";export{requests$Answer as Answer,requests$default as default,requests$ms as ms};
