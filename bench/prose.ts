// Ordinary English text of prompts and responses about different subjects: the source of the bodies that the benchmarks send.

/** The letter of the 1 kB request. */
export const LETTER =
  "Our team looks after a small museum by the harbour. Visitors ask most often when the lighthouse opens, whether " +
  "the ferry runs on Sundays, and which of the paintings were made in the town itself. We would like a friendly " +
  "answer of about three sentences that names the opening hours, mentions the winter break in January and February, " +
  "and points to the desk in the hall for everything else. Please keep the tone warm and plain, avoid exclamation " +
  "marks, and do not promise anything about the weather. If a visitor travels with children, add that there is a " +
  "room to draw in on the first floor, next to the library. Prices have not changed since last spring, and members " +
  "of the harbour society still walk in for free. The shop sells maps, postcards and a short history of the pier. " +
  "Letters in other languages may be answered in the language they were written in, as long as it is one of ours.";

/** No sentence occurs twice. Sentences are separated by one space, or by a line break that is part of the text. */
export const PARAGRAPHS: readonly string[] = [
  "Please summarize the minutes of the meeting on 14 March. Eleven of the thirteen members were present, and the " +
    'treasurer reported a surplus of 2,340.50. Ms. Okafor said, "We should repair the roof before we buy new chairs," ' +
    "and nobody objected. The vote on the garden was moved to the next meeting because two of the plans arrived late.",
  "I am planning a walking tour through the Scottish Highlands in the first week of June. We want to cover about 18 " +
    "kilometers a day, sleep in small inns, and avoid roads wherever that is possible. One of us has a weak knee, so " +
    "steep descents should come early in the day.\nWhich maps would you take along, and how much water does a person " +
    "need between two villages?",
  "The recipe asks for 250 grams of flour, three eggs, a pinch of salt and half a liter of milk. Let the batter rest " +
    "for thirty minutes before you heat the pan. My grandmother added a spoon of sparkling water, because it makes the " +
    "pancakes lighter. If they stick, the pan was not hot enough; the first one is for the cook anyway.",
  "Explain to a class of twelve-year-olds why the moon has phases. Use an orange, a lamp and a dark room, and do not " +
    "mention eclipses until the end. Children often believe that the shadow of the earth is the reason. A good question " +
    'to start with is: "Where is the moon when we cannot see it at all?"',
  "The customer wrote twice this week about order 58-20417. The parcel was handed over to the carrier on Tuesday at " +
    "16:42, but the tracking page has not changed since then. She needs the lamp for her daughter's birthday on Saturday. " +
    "Offer to send a second one by express at no charge, apologize once, and do not blame the carrier.",
  "A violin made of spruce and maple changes its sound during the first years. Makers disagree about the reason: some " +
    "say that the varnish hardens, others that the wood loses moisture, and a few believe that it is only the player who " +
    "learns to use the instrument. Blind tests with professional musicians have not settled the question.",
  "Our town had 41,200 inhabitants in 1990 and 38,750 in the last census. The school on Mill Street was closed, the " +
    "swimming pool was renovated, and the railway station got a second platform.\n\nWrite two paragraphs for the annual " +
    "report: the first about what was lost, the second about what was built. Keep it below 180 words.",
  "In the second chapter the narrator returns to the island after nine years and does not recognize the house. The " +
    "reader knows more than she does, because the letters in chapter one came from the same address. I would cut the " +
    'dialogue with the postman, keep the description of the harbor, and move the sentence "Nothing had been painted" to ' +
    "the end of the page.",
  "Bees do not sleep through the winter. They form a cluster around the queen, shiver to keep it at roughly 30 degrees, " +
    "and eat the honey that they stored in summer. A colony needs between fifteen and twenty kilograms until spring. " +
    "Opening the hive on a cold day costs them more warmth than they can easily replace.",
  "Please check my reasoning about the loan. We borrow 180,000 over twenty years at 3.9 percent, pay 1,081 a month, and " +
    "may repay five percent of the sum each year without a fee. If we use this option three times, how many months " +
    "earlier are we done? I do not need an exact figure; a range with the assumptions spelled out is enough.",
  "The patient is a 54-year-old teacher who has had a dry cough for six weeks. There is no fever, the lungs are clear, " +
    "and the X-ray shows nothing unusual. He started a new medicine for blood pressure two months ago. What would you ask " +
    "him next, and which of the possible causes is the most common one?",
  "Dear neighbors, on Friday the 9th the water will be turned off from 8 to 11 in the morning. The plumber replaces the " +
    "main valve in the cellar, which has been leaking since autumn. Please fill a kettle the evening before, and leave " +
    "the door to the laundry room open.\nThank you for your patience,\nthe house committee",
  "Translate the following proverb, and explain when people use it. It says that a guest sees in an hour what the host " +
    "does not see in a year. I found it in a letter from 1911, where a sister describes her visit to the family farm. Is " +
    "there an expression in English with the same meaning, perhaps an older one that is no longer common?",
  "Compare the three offers for the office cleaning. The first company charges 24.80 an hour and brings its own machines; " +
    "the second one charges a fixed price of 1,950 a month; the third is cheaper than both but cannot start before May. " +
    "References were excellent for the first and mixed for the second. Mention that the contract can be ended with a " +
    "notice of six weeks.",
  "Rivers in flat land rarely run straight for more than ten times their width. The current is faster on the outside of a " +
    "bend, carries soil away there, and leaves it on the inside further down. Over decades the loop grows until the river " +
    "breaks through its neck, and a lake in the shape of a crescent remains.",
  'The slogan should fit on a tote bag and work without a picture. "Read slowly" was our favorite until we noticed that a ' +
    "competitor uses it. We sell used books, repair bindings, and host a reading circle on the last Thursday of the month. " +
    "Ten suggestions would be great, none longer than five words, and please no puns about turning pages.",
  "At the last rehearsal the altos entered one bar too early, twice. Bars 33 to 48 need to be practiced slowly and without " +
    "the piano. The soloist has a cold and will mark the high notes until Wednesday. Somebody should ask the church whether " +
    "the heating can be switched on at four, since it takes three hours to warm the nave.",
  "For the exhibit about early photography we need labels of at most sixty words. The daguerreotype of the market square " +
    "was taken in 1846 with an exposure of several minutes, which is why the square looks empty: everybody who moved has " +
    "disappeared. Only a man who had his boots cleaned stood still long enough to be seen.",
  "What should a beginner know about growing tomatoes on a balcony? The pot should hold at least twelve liters, the plant " +
    "wants six hours of sun, and the leaves must not get wet in the evening. Side shoots are removed once a week. With a " +
    "little luck, the first fruits are ripe in the middle of July; in a cool summer it takes until August.",
  "The report says that the delay was caused by three separate events. A signal near the bridge failed at 5:20, the crew of " +
    "the replacement train had exceeded its hours, and the announcement on platform 4 named the wrong destination. None of " +
    "them alone would have cost more than fifteen minutes. Together they left 640 people waiting until noon.",
  "You are helping a small charity that lends tools to its members. A drill was returned without its case, a ladder is two " +
    "weeks overdue, and somebody asks whether the sewing machine may be taken abroad. Be kind in all three replies, refer to " +
    "paragraph 7 of the rules only where it is necessary, and suggest a date for the return of the ladder.",
  "Scholars still argue about how the heavy stones were moved. Sledges on wet sand, wooden rollers and boats on canals have " +
    "all been tried in experiments, and each of them worked for blocks of up to two tons. The largest block weighs more than " +
    "twenty. A painting from a tomb shows a man who pours water in front of a sledge.",
  "My daughter starts at a new school after the holidays and is nervous about lunch. She does not eat meat, she is shy with " +
    "strangers, and her best friend goes to a different class. How can I prepare her without making it a bigger matter than " +
    "it is? We have visited the building once, and she liked the library with its round windows.",
  "The forecast for the coast: fresh wind from the southwest, 6 to 7 at first, decreasing in the afternoon. Showers until " +
    "noon, then mostly dry with a few sunny hours. High tide is at 13:07 and at 01:31. Small boats should stay in the " +
    "harbor before midday, and swimmers are asked to follow the flags on the beach.",
  "Glass is neither an ordinary liquid nor a crystal. Old windows are often thicker at the bottom, but not because they " +
    "flowed; panes were blown, cut from uneven disks, and set with the heavy edge below. At room temperature the material " +
    "would need longer than the age of the universe to move by the width of a hair.",
  "Here is my draft of the speech. It is too long by about two minutes, and the joke about the ferry should probably go. " +
    'Keep the passage in which I thank the volunteers, all 62 of them, and the quotation of the founder: "A door that is ' +
    'never opened is a wall." The ending may be rewritten completely.',
  "In the negotiation both sides wanted the same week in October for the hall. The theater offered to give up Monday and " +
    "Tuesday if the chess club moved its finals to the afternoon. In return, the club asked for the foyer on both evenings.\n" +
    "Draft a short agreement with dates, times, and the name of the person who keeps the keys.",
];
