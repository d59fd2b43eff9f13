if (data.films) new Film(document.getElementById("film"), data.films);
const times = (data.times || []).map(numbers);
(data.charts || []).forEach((chart) => new Chart(document.getElementById("charts"), chart, times));
