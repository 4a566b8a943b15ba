import{team$TeamSections,team$closed,team$default,team$keysLeft}from"./shared.js";export{team$TeamSections as TeamSections,team$closed as closed,team$default as default,team$keysLeft as keysLeft};
